// Package nex retrieves nex URLs: the path is sent, and what comes until the server closes the
// connection is the content (the Nex protocol).
//
//	nex://host/          the directory that a server begins with
//	nex://host/notes/    a directory: text with lines "=> URL" that lead on
//	nex://host/a.txt     a document
//
// A path that is empty or ends in a slash names a directory; listed, it yields its links. The type
// of a document is what its name says. There are no statuses: that something is missing is a text
// like others, and a truncated answer cannot be told from a complete one.
package nex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
	"github.com/urlget/urlget/protocols/internal/smallnet"
)

const (
	port = 1900
	// maxPath bounds the path in a request, in bytes.
	maxPath = 4096
)

// Load registers the scheme nex.
func Load(env *fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "nex",
		Port:    port,
		Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
		Summary: "documents and directories by the Nex protocol",
		Driver:  &driver{env},
	})
}

type driver struct{ env *fetch.Env }

// parse returns the path to send for a URL: decoded, as servers know of no URLs, and without the
// slash that begins it. A "?" is a character like others.
func parse(u uri.URI) (string, error) {
	if _, err := smallnet.Host(u); err != nil {
		return "", err
	}
	path, err := uri.Unescape(u.URLPath())
	if err != nil {
		return "", err
	}
	if len(path) > maxPath {
		return "", &fetch.Error{Code: fetch.ErrURL, Err: fmt.Errorf("the path has %d bytes, and %d are the most", len(path), maxPath)}
	}
	return path, wire.CheckLine(path)
}

// isDirectory reports whether a path is that of a directory.
func isDirectory(path string) bool { return path == "" || strings.HasSuffix(path, "/") }

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	path, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	if req.Op == fetch.OpList && !isDirectory(path) {
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("a document, not a directory: %w", errors.ErrUnsupported),
			Hint: "the path of a directory ends in a slash"}
	}
	b := &answer{}
	question := fetch.Question{Addr: req.URL.HostPort(port), Lines: []string{path}}
	if err := d.env.Ask(ctx, question, b.begin); err != nil {
		return nil, err
	}
	resp := &fetch.Response{URL: req.URL, Meta: meta(req.URL, path), Body: b}
	resp.Size, resp.Framing = -1, fetch.FramedByClose
	if isDirectory(path) {
		resp.Parse = smallnet.Page{Base: base(req.URL), Plain: true}.Links
		if req.Op == fetch.OpList {
			resp.Kind = fetch.KindListing
		}
	}
	if req.Op == fetch.OpStat {
		b.Close()
		resp.Body, resp.Parse = fetch.NoBody, nil
	}
	return resp, nil
}

// meta returns what a URL tells of what it names.
func meta(u uri.URI, path string) fetch.Meta {
	return fetch.Meta{Name: fetch.SafeName(u.LastSegment()), ContentType: cmp.Or(fetch.TypeByName(path), "text/plain")}
}

// base returns what the links of a directory are relative to: a path that is empty is the root.
func base(u uri.URI) uri.URI {
	if root, err := uri.ParseRef("/"); err == nil && u.Path() == "" {
		return u.Resolve(root)
	}
	return u
}

// An answer is the body of a response.
type answer struct {
	*wire.Reader
	io.Closer
}

// begin waits for the answer to begin. The answer may be empty.
func (b *answer) begin(conn *fetch.Conn) error {
	b.Closer, b.Reader = conn, wire.NewReader(conn, 0)
	if _, err := b.Peek(1); err != io.EOF {
		return err
	}
	return nil
}

// Expect implements fetch.Expecter.
func (d *driver) Expect(req *fetch.Request) (fetch.Meta, bool) {
	path, err := parse(req.URL)
	return meta(req.URL, path), err == nil
}

// Explain implements fetch.Explainer.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
	path, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("send %q", path)}, nil
}

var (
	_ fetch.Driver    = (*driver)(nil)
	_ fetch.Explainer = (*driver)(nil)
	_ fetch.Expecter  = (*driver)(nil)
	_ io.WriterTo     = (*answer)(nil)
)
