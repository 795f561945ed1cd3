package mounted

import (
	"context"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A fallback is a driver for nfs that tries the server first. If the server is unreachable or
// refuses, it reads the mounted file system.
type fallback struct {
	fetch.Driver
	mounted *opener
}

// Open implements fetch.Driver. Foreign requests (see fetch.Env.Foreign) do not read mounted file
// systems, because a remote server must not redirect to local files.
func (b *fallback) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	resp, err := b.Driver.Open(ctx, req)
	if err == nil || b.mounted.env.Foreign(ctx) || ctx.Err() != nil {
		return resp, err
	}
	switch fetch.CodeOf(err) {
	case fetch.ErrNetwork, fetch.ErrRefused, fetch.ErrAuth, fetch.ErrProtocol, fetch.ErrServer, "":
	default:
		return nil, err
	}
	f, dir, missing := b.mounted.file(req.URL)
	if missing != nil {
		return nil, err
	}
	b.mounted.env.Logger().Info("the server failed; reading from the mount point "+dir, "error", err)
	dup := *req
	dup.URL = f
	if dup.From, err = (uri.File{Path: dir + "/"}).URI(); err != nil {
		return nil, err
	}
	return b.mounted.env.Open(ctx, &dup)
}

func (b *fallback) CloseIdleConnections() {
	if c, ok := b.Driver.(fetch.IdleCloser); ok {
		c.CloseIdleConnections()
	}
}

func (b *fallback) Explain(req *fetch.Request) ([]string, error) {
	x, ok := b.Driver.(fetch.Explainer)
	if !ok {
		return nil, nil
	}
	steps, err := x.Explain(req)
	f, _, missing := b.mounted.file(req.URL)
	if err == nil && missing == nil && !b.mounted.env.ForeignRequest(req) {
		steps = append(steps, "if that fails, open "+f.String()+" at the mount point")
	}
	return steps, err
}
