// Package nex retrieves nex URLs (the Nex protocol). The request is the path, and the response ends
// when the server closes the connection.
//
//	nex://host/          the root directory of a server
//	nex://host/notes/    a directory: text with link lines "=> URL"
//	nex://host/a.txt     a document
//
// A path that is empty or ends with a slash is that of a directory; listed, it yields its links.
// The type of a document follows from its name. The protocol has no statuses: an error message is a
// text like any other, and a truncated response looks complete.
package nex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/smallnet"
)

const (
	port = 1900
	// maxPath limits the path in a request, in bytes.
	maxPath = 4096
)

// Load registers the scheme nex.
func Load(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "nex",
		Port:    port,
		Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
		Traits:  fetch.Traits{Tree: true, Pages: true},
		Summary: "documents and directories over the Nex protocol",
		Driver:  &opener{env, reg},
	})
}

type opener struct {
	env fetch.Env
	reg *fetch.Registry
}

// parse returns the path to send for a URL: decoded, because servers do not know URLs, and without
// the leading slash. A "?" is part of the path.
func parse(u uri.URI) (string, error) {
	if _, err := smallnet.Host(u); err != nil {
		return "", err
	}
	path, err := uri.Unescape(u.URLPath())
	if err != nil {
		return "", err
	}
	if len(path) > maxPath {
		return "", fetch.ErrURL.Errorf("the path has %d bytes, the limit is %d", len(path), maxPath)
	}
	return path, wire.CheckLine(path)
}

func isDirectory(path string) bool { return path == "" || strings.HasSuffix(path, "/") }

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	path, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	if req.Op == fetch.OpList && !isDirectory(path) {
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable,
			Err:  fmt.Errorf("a document, not a directory: %w", errors.ErrUnsupported),
			Hint: "the path of a directory ends with a slash"}
	}
	b := &body{}
	question := driver.Question{Addr: req.URL.HostPort(port), Lines: []string{path}}
	if err := driver.Ask(ctx, d.env, question, b.begin); err != nil {
		return nil, err
	}
	resp := &fetch.Response{URL: req.URL, Meta: meta(req.URL, path), Body: b}
	resp.Size, resp.Framing = -1, fetch.FramedByClose
	if isDirectory(path) {
		resp.Parse = smallnet.Page{Base: base(req.URL), Schemes: d.reg, Plain: true}.Links
		if req.Op == fetch.OpList {
			resp.Kind = fetch.KindListing
		}
	}
	return driver.DropBody(req, resp), nil
}

func meta(u uri.URI, path string) fetch.Meta {
	return fetch.Meta{
		Name:        fetch.SafeName(u.LastSegment()),
		ContentType: cmp.Or(fetch.TypeByName(path), "text/plain"),
	}
}

// base returns the base URL of the links in a directory. An empty path is the root.
func base(u uri.URI) uri.URI {
	if root, err := uri.ParseRef("/"); err == nil && u.Path() == "" {
		return u.Resolve(root)
	}
	return u
}

type body struct {
	*wire.Reader
	io.Closer
}

// begin waits for the first byte of the response, which may be empty.
func (b *body) begin(conn *fetch.Conn) error {
	b.Closer, b.Reader = conn, wire.NewReader(conn, 0)
	if _, err := b.Peek(1); err != io.EOF {
		return err
	}
	return nil
}

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	path, err := parse(req.URL)
	return meta(req.URL, path), err == nil
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	path, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("send %q", path)}, nil
}

var _ io.WriterTo = (*body)(nil)
