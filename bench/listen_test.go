package bench

import (
	"net"
	"testing"

	"github.com/urlget/urlget/fetchtest/servers"
)

// listen returns an address that is valid until the benchmark ends. It calls handle in a new
// goroutine for each connection, and closes the connection afterwards.
func listen(b *testing.B, handle func(net.Conn)) string {
	b.Helper()
	return servers.Start(b, servers.Config{}, func(c *servers.Conn) { handle(c.NetConn()) }).Addr
}
