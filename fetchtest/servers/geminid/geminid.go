// Package geminid is a Gemini server for tests. It serves a tree of files and fails on request.
package geminid

import (
	"cmp"
	"crypto/tls"
	"embed"
	"io/fs"
	"net/url"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/internal/smallnet"
)

// Options configure a server.
type Options struct {
	// Tree holds the files. A directory is served as a page of links if its URL ends with a slash,
	// and as a redirect otherwise. Nil means no files.
	Tree fs.FS
	// Types maps file extensions, such as ".gmi", to media types. The default is
	// application/octet-stream.
	Types map[string]string
	// Replies maps requests to complete responses. A request is the path of the URL with its query.
	// A response is a header and, after the first CR LF, a body. They take precedence over Tree.
	Replies map[string]string
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
	// TLS is the server's TLS configuration. Nil means that of servers.Certificate.
	TLS *tls.Config
	// Seen, if not nil, is called with the TLS state of each request.
	Seen func(tls.ConnectionState)
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *servers.Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close. Faults apply to the bodies of successful
// responses.
func New(opts Options) (*servers.Server, error) {
	opts.Tree = cmp.Or[fs.FS](opts.Tree, embed.FS{})
	if opts.TLS == nil {
		opts.TLS, _ = servers.Certificate()
	}
	return servers.New(servers.Config{Scheme: "gemini", Listen: opts.Listen, TLS: opts.TLS,
		Cannot: []servers.Fault{servers.Abort}}, func(c *servers.Conn) {
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		if opts.Seen != nil {
			opts.Seen(c.ConnectionState())
		}
		header, body := opts.respond(line)
		smallnet.Send(c, header, body)
	})
}

// respond returns the header, without its line end, and the body of the response to a request.
func (o *Options) respond(request string) (header string, body []byte) {
	u, err := url.Parse(request)
	if err != nil || u.Scheme != "gemini" || u.Host == "" || u.User != nil || len(request) > 1024 {
		return "59 Bad request", nil
	}
	if reply, ok := o.Replies[u.RequestURI()]; ok {
		return smallnet.Split(reply)
	}
	site := smallnet.Site{Tree: o.Tree, Types: o.Types, Success: "20", Redirect: "31", Missing: "51",
		Failed: "40"}
	return site.Respond(u.Path, u.EscapedPath())
}
