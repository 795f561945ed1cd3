// Command waisd serves a folder over WAIS, for tests.
package main

import (
	"io/fs"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/internal/command"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
)

func main() {
	command.Main(func(listen, public string, tree fs.FS) (*servers.Server, error) {
		s, err := waisd.New(waisd.Options{Tree: tree, Listen: listen, Public: public})
		if err != nil {
			return nil, err
		}
		return s.Server, nil
	})
}
