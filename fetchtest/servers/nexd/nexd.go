// Package nexd is a Nex server for tests. It serves a tree of files and fails on request.
package nexd

import (
	"cmp"
	"embed"
	"io/fs"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/internal/smallnet"
)

// Options configure a server.
type Options struct {
	// Tree holds the files. A path that is empty or ends with a slash returns links to the members
	// of a directory. Nil means no files.
	Tree fs.FS
	// Replies maps paths, as sent by the client, to complete responses. They take precedence over
	// Tree.
	Replies map[string]string
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *servers.Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close. Faults apply to every response.
func New(opts Options) (*servers.Server, error) {
	opts.Tree = cmp.Or[fs.FS](opts.Tree, embed.FS{})
	return servers.New(servers.Config{Scheme: "nex", Listen: opts.Listen,
		Cannot: []servers.Fault{servers.Abort}}, func(c *servers.Conn) {
		if path, err := c.ReadLine(); err == nil {
			c.Send(opts.respond(path))
		}
	})
}

// missing is the response for a missing file.
const missing = "There is no such document.\n"

func (o *Options) respond(path string) []byte {
	if text, ok := o.Replies[path]; ok {
		return []byte(text)
	}
	name := cmp.Or(strings.Trim(path, "/"), ".")
	read := fs.ReadFile
	if path == "" || strings.HasSuffix(path, "/") {
		read = directory
	}
	content, err := read(o.Tree, name)
	if err != nil {
		return []byte(missing)
	}
	return content
}

func directory(tree fs.FS, name string) ([]byte, error) {
	return smallnet.Links([]byte("Members:\n"), tree, name)
}
