// Package spartand is a Spartan server for tests. It serves a tree of files and fails on request.
package spartand

import (
	"embed"
	"io"
	"io/fs"
	"net/url"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/internal/smallnet"
)

// maxData bounds what a client may send, in bytes.
const maxData = 1 << 20

// Options say what a server has and how it behaves.
type Options struct {
	// Tree holds the files. A directory is answered with a page of links to its members, if its
	// path ends with a slash, and else with a redirect to that. Nil means none.
	Tree fs.FS
	// Types are the media types of files by the extension of their names, such as ".gmi". Those of
	// others are application/octet-stream.
	Types map[string]string
	// Replies are whole answers by request, which is the path as it was sent, and behind a "?" the
	// data if there are any: a header without its line end, and perhaps a body behind it, which
	// begins after the first CR LF. They go before the files.
	Replies map[string]string
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
}

// A Server is a running Spartan server. Its content, for faults, is the bodies of successes.
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
	base, err := servers.Listen(servers.Config{Scheme: "spartan", Listen: opts.Listen, Cannot: []servers.Fault{servers.Abort}})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(func(c *servers.Conn) {
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		header, body := s.answer(line, c)
		smallnet.Send(c, header, body)
	})
	return s, nil
}

// answer returns the header of the answer to a request, without its line end, and the body. It
// reads the data that follow the line.
func (s *Server) answer(line string, r io.Reader) (header string, body []byte) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 || parts[0] == "" || !strings.HasPrefix(parts[1], "/") {
		return "4 Bad request", nil
	}
	size, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil || size > maxData {
		return "4 Bad request", nil
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return "4 Bad request", nil
	}
	request := parts[1]
	if size > 0 {
		request += "?" + string(data)
	}
	if reply, ok := s.opts.Replies[request]; ok {
		return smallnet.Split(reply)
	}
	path, err := url.PathUnescape(parts[1])
	if err != nil {
		return "4 Bad request", nil
	}
	site := smallnet.Site{Tree: s.opts.Tree, Types: s.opts.Types, Success: "2", Redirect: "3", Missing: "4", Failed: "5"}
	return site.Answer(path, parts[1])
}
