// Command prosperod serves a folder by Prospero, for tests.
package main

import (
	"io/fs"
	"net"

	"github.com/urlget/urlget/internal/testserver/command"
	"github.com/urlget/urlget/internal/testserver/prosperod"
)

func main() {
	command.Main("udp", func(listen string, public net.Addr, tree fs.FS) (command.Server, error) {
		conn, err := net.ListenPacket("udp", listen)
		if err != nil {
			return nil, err
		}
		if public != nil {
			conn = named{conn, public}
		}
		s := prosperod.New(tree)
		s.Serve(conn)
		return s, nil
	})
}

// named is a socket that answers under another address.
type named struct {
	net.PacketConn
	addr net.Addr
}

func (n named) LocalAddr() net.Addr { return n.addr }
