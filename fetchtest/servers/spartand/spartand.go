// Package spartand is a Spartan server for tests. It serves a tree of files and fails on request.
package spartand

import (
	"cmp"
	"embed"
	"io"
	"io/fs"
	"net/url"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/internal/smallnet"
)

// maxData limits the data of a request, in bytes.
const maxData = 1 << 20

// Options configure a server.
type Options struct {
	// Tree holds the files. A directory is served as a page of links if its path ends with a slash,
	// and as a redirect otherwise. Nil means no files.
	Tree fs.FS
	// Types maps file extensions, such as ".gmi", to media types. The default is
	// application/octet-stream.
	Types map[string]string
	// Replies maps requests to complete responses. A request is the path as sent, followed by "?"
	// and the data if there are any. A response is a header and, after the first CR LF, a body.
	// They take precedence over Tree.
	Replies map[string]string
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
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
	return servers.New(servers.Config{Scheme: "spartan", Listen: opts.Listen,
		Cannot: []servers.Fault{servers.Abort}}, func(c *servers.Conn) {
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		header, body := opts.respond(line, c)
		smallnet.Send(c, header, body)
	})
}

// respond reads the data of a request and returns the header, without its line end, and the body of
// the response.
func (o *Options) respond(line string, r io.Reader) (header string, body []byte) {
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
	if reply, ok := o.Replies[request]; ok {
		return smallnet.Split(reply)
	}
	path, err := url.PathUnescape(parts[1])
	if err != nil {
		return "4 Bad request", nil
	}
	site := smallnet.Site{Tree: o.Tree, Types: o.Types, Success: "2", Redirect: "3", Missing: "4",
		Failed: "5"}
	return site.Respond(path, parts[1])
}
