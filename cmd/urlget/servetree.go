package main

import (
	"archive/zip"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"net"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchfs"
	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetch/uri"
)

// serveWebDAV exports a tree at a loopback address until ctx ends. Its path is secret, so that other
// users of the machine and web pages cannot read it.
func serveWebDAV(ctx context.Context, n *network, addr string, root uri.URI) error {
	if root.IsZero() {
		return failure.Usagef("--webdav requires a URL or a directory")
	}
	opts, err := n.options()
	if err != nil {
		return err
	}
	client := n.clientWith(opts)
	defer client.Close()
	fsys, closeTree, err := openTree(ctx, client, root)
	if err != nil {
		return err
	}
	defer closeTree()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return failure.File(err)
	}
	prefix := "/" + rand.Text()
	if err := announce(n.rep.std.out, l, fetchhttp.Address(l.Addr().String()+prefix)); err != nil {
		return err
	}
	return serveHTTP(ctx, l, fetchhttp.NewWebDAV(fsys, prefix))
}

// openTree returns the tree of a URL: that in a zip file, or the one that listings show.
func openTree(ctx context.Context, c *fetch.Client, root uri.URI) (fs.FS, func() error, error) {
	if !strings.HasSuffix(strings.ToLower(root.LastSegment()), ".zip") {
		f := fetchfs.New(ctx, c, root.String())
		var failed *fetch.Error
		if _, err := f.ReadDir("."); errors.As(err, &failed) {
			return nil, nil, failed
		}
		return f, func() error { return nil }, nil
	}
	r, err := c.Open(ctx, &fetch.Request{URL: root})
	if err != nil {
		return nil, nil, err
	}
	z, err := zip.NewReader(r, r.Size())
	if err != nil {
		r.Close()
		return nil, nil, &fetch.Error{Op: "open", URL: root.Redacted(), Code: fetch.ErrProtocol, Err: err}
	}
	return z, r.Close, nil
}
