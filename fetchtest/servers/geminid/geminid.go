// Package geminid is a Gemini server for tests. It serves a tree of files and fails on request.
package geminid

import (
	"crypto/tls"
	"embed"
	"io/fs"
	"net/url"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/internal/smallnet"
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
		smallnet.Send(c, header, body)
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
		return smallnet.Split(reply)
	}
	site := smallnet.Site{Tree: s.opts.Tree, Types: s.opts.Types, Success: "20", Redirect: "31", Missing: "51", Failed: "40"}
	return site.Answer(u.Path, u.EscapedPath())
}
