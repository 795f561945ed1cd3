// Command prosperod serves a folder over Prospero, for tests.
package main

import (
	"io/fs"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/internal/command"
	"github.com/urlget/urlget/fetchtest/servers/prosperod"
)

func main() {
	command.Main(func(listen, public string, tree fs.FS) (*servers.Server, error) {
		s, err := prosperod.New(prosperod.Options{Tree: tree, Listen: listen, Public: public})
		if err != nil {
			return nil, err
		}
		return s.Server, nil
	})
}
