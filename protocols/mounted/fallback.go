package mounted

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// A fallback is a driver for nfs that tries the server first. If the server is unreachable or
// refuses, it reads the mounted file system.
type fallback struct {
	driver.Driver
	mounted *opener
}

// Open implements driver.Driver. Foreign requests (see driver.Env.Foreign) do not read mounted file
// systems, because a remote server must not redirect to local files.
func (b *fallback) Open(ctx context.Context, req *driver.Request) (*driver.Response, error) {
	resp, err := b.Driver.Open(ctx, req)
	if err == nil || b.mounted.env.Foreign(ctx) || ctx.Err() != nil {
		return resp, err
	}
	switch driver.CodeOf(err) {
	case driver.ErrNetwork, driver.ErrRefused, driver.ErrAuth, driver.ErrProtocol, driver.ErrServer, "":
	default:
		return nil, err
	}
	f, dir, missing := b.mounted.file(req.URL)
	if missing != nil {
		return nil, err
	}
	b.mounted.env.Logger().Info(fmt.Sprintf("the server failed; reading from the mount point %s", dir), "error", err)
	dup := *req
	dup.URL = f
	if dup.From, err = (uri.File{Path: dir + "/"}).URI(); err != nil {
		return nil, err
	}
	return b.mounted.env.Open(ctx, &dup)
}

// CloseIdleConnections implements driver.IdleCloser.
func (b *fallback) CloseIdleConnections() {
	if c, ok := b.Driver.(driver.IdleCloser); ok {
		c.CloseIdleConnections()
	}
}

// Explain implements driver.Explainer.
func (b *fallback) Explain(req *driver.Request) ([]string, error) {
	x, ok := b.Driver.(driver.Explainer)
	if !ok {
		return nil, nil
	}
	steps, err := x.Explain(req)
	if f, _, missing := b.mounted.file(req.URL); err == nil && missing == nil && !b.mounted.env.ForeignRequest(req) {
		steps = append(steps, "if that fails, open "+f.String()+" at the mount point")
	}
	return steps, err
}

var (
	_ driver.IdleCloser = (*fallback)(nil)
	_ driver.Explainer  = (*fallback)(nil)
)
