// Command waisd serves a folder by WAIS, for tests.
package main

import (
	"io/fs"
	"net"

	"github.com/urlget/urlget/internal/testserver/command"
	"github.com/urlget/urlget/internal/testserver/waisd"
)

func main() {
	command.Main("tcp", func(listen string, public net.Addr, tree fs.FS) (command.Server, error) {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return nil, err
		}
		if public != nil {
			l = named{l, public}
		}
		return waisd.Start(l, tree), nil
	})
}

// named is a listener that answers under another address.
type named struct {
	net.Listener
	addr net.Addr
}

func (n named) Addr() net.Addr { return n.addr }
