// Package geminid is a Gemini server for tests. It serves a tree of files and fails on request.
package geminid

import (
	"cmp"
	"crypto/tls"
	"embed"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch/fetchtest/servers"
)

// Options say what a server has and how it behaves.
type Options struct {
	// Tree holds the files. A directory is answered with a page of links to its members, if its
	// URL ends with a slash, and else with a redirect to that. Nil means none.
	Tree fs.FS
	// Types are the media types of files by the extension of their names, such as ".gmi". Those of
	// others are application/octet-stream.
	Types map[string]string
	// Replies are whole answers by request, which is the path of the URL and perhaps a query, as
	// they are written: a header without its line end, and perhaps a body behind it, which begins
	// after the first CR LF. They go before the files.
	Replies map[string]string
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
	// TLS has the certificate; nil means that of servers.Certificate.
	TLS *tls.Config
	// Seen, if not nil, is called with the state of TLS of each request.
	Seen func(tls.ConnectionState)
}

// A Server is a running Gemini server. Its content, for faults, is the bodies of successes.
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
	if opts.TLS == nil {
		opts.TLS, _ = servers.Certificate()
	}
	base, err := servers.Listen(servers.Config{Scheme: "gemini", Listen: opts.Listen, TLS: opts.TLS, Cannot: []servers.Fault{servers.Abort}})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(func(c *servers.Conn) {
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		if opts.Seen != nil {
			opts.Seen(c.ConnectionState())
		}
		header, body := s.answer(line)
		if !strings.HasPrefix(header, "2") {
			c.Reply("%s", header)
			return
		}
		if b, ok := c.Content(int64(len(body))); ok {
			c.Printf("%s", header)
			b.Write(body)
			b.End()
		}
	})
	return s, nil
}

// answer returns the header of the answer to a request, without its line end, and the body.
func (s *Server) answer(request string) (header string, body []byte) {
	u, err := url.Parse(request)
	if err != nil || u.Scheme != "gemini" || u.Host == "" || u.User != nil || len(request) > 1024 {
		return "59 Bad request", nil
	}
	if reply, ok := s.opts.Replies[u.RequestURI()]; ok {
		header, rest, _ := strings.Cut(reply, "\r\n")
		return header, []byte(rest)
	}
	name := strings.Trim(u.Path, "/")
	info, err := fs.Stat(s.opts.Tree, cmp.Or(name, "."))
	switch {
	case err != nil:
		return "51 Not found", nil
	case info.IsDir() && !strings.HasSuffix(u.Path, "/"):
		return "31 " + u.EscapedPath() + "/", nil
	case info.IsDir():
		return "20 text/gemini", []byte(s.page(cmp.Or(name, ".")))
	}
	content, err := fs.ReadFile(s.opts.Tree, name)
	if err != nil {
		return "40 " + err.Error(), nil
	}
	return "20 " + cmp.Or(s.opts.Types[path.Ext(name)], "application/octet-stream"), content
}

// page returns the page of a directory.
func (s *Server) page(dir string) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# %s\n", path.Base(dir))
	entries, _ := fs.ReadDir(s.opts.Tree, dir)
	for _, e := range entries {
		slash := ""
		if e.IsDir() {
			slash = "/"
		}
		fmt.Fprintf(&page, "=> ./%s%s %s%s\n", url.PathEscape(e.Name()), slash, e.Name(), slash)
	}
	return page.String()
}
