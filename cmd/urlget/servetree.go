package main

import (
	"archive/zip"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchfs"
	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetch/uri"
)

func serveProxy(ctx context.Context, n *network, addr string) error {
	own, err := n.untrustedOptions() // any page in a browser can cause a request
	if err != nil {
		return err
	}
	p := &fetchhttp.Proxy{Client: n.clientWith(own), Downgrade: n.opts.Serve.Downgrade}
	defer p.Client.Close()
	if login := n.opts.Serve.Login; login != "" {
		user, password, ok := strings.Cut(login, ":")
		if !ok || password == "" {
			return failure.Usagef("--require-login: must be USER:PASSWORD")
		}
		p.Login = &fetch.Credential{User: user, Password: password}
	}
	if dir := n.opts.Serve.Authority; dir != "" {
		if p.Authority, err = fetchhttp.LoadAuthority(dir); err != nil {
			return failure.File(err)
		}
	}
	if o := n.opts.Archive; !o.ReplayOnly && o.At.IsZero() { // a tunnel leads to the present server
		tunnels, policy := *own, *own.Policy
		policy.AllowSessions, policy.AllowPorts = true, append(slices.Clone(policy.AllowPorts), 80)
		tunnels.Policy, tunnels.Timeouts.Idle = &policy, -1
		tunnels.Recorder, tunnels.Middleware = nil, nil // the content is encrypted
		p.Tunnels = fetch.New(&tunnels, fetchhttp.LoadTunnel)
		defer p.Tunnels.Close()
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return failure.File(err)
	}
	if err := announce(n.rep.std.out, l, fetchhttp.Address(l.Addr().String())); err != nil {
		return err
	}
	return failure.File(p.Serve(ctx, l))
}

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
