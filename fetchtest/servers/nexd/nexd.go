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

// Options say what a server has and how it behaves.
type Options struct {
	// Tree holds the files. A path that ends in a slash, or the empty one, is answered with the
	// links to the members of a directory. Nil means none.
	Tree fs.FS
	// Answers are whole answers by path, as it was sent. They go before the files.
	Answers map[string]string
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
}

// A Server is a running Nex server. All that it answers is content, for faults.
type Server struct {
	*servers.Server
	opts Options
}

// Start starts a server until the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
func New(opts Options) (*Server, error) {
	if opts.Tree == nil {
		opts.Tree = embed.FS{}
	}
	base, err := servers.Listen(servers.Config{Scheme: "nex", Listen: opts.Listen, Cannot: []servers.Fault{servers.Abort}})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(func(c *servers.Conn) {
		if path, err := c.ReadLine(); err == nil {
			c.Send(s.answer(path))
		}
	})
	return s, nil
}

// missing is the answer for what is not there.
const missing = "There is no such document.\n"

func (s *Server) answer(path string) []byte {
	if text, ok := s.opts.Answers[path]; ok {
		return []byte(text)
	}
	name := cmp.Or(strings.Trim(path, "/"), ".")
	read := fs.ReadFile
	if path == "" || strings.HasSuffix(path, "/") {
		read = directory
	}
	content, err := read(s.opts.Tree, name)
	if err != nil {
		return []byte(missing)
	}
	return content
}

func directory(tree fs.FS, name string) ([]byte, error) {
	return smallnet.Links([]byte("Members:\n"), tree, name)
}
