package bench

import (
	"net"
	"testing"
)

// listen returns an address until the benchmark ends. Each connection to it is handled by itself,
// and closed afterwards.
func listen(b *testing.B, handle func(net.Conn)) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	return l.Addr().String()
}
