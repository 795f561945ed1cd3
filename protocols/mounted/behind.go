package mounted

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// behind is a driver for nfs that asks the server first, and reads what is mounted if the server
// cannot be asked or refuses.
type behind struct {
	driver.Driver
	mounted *opener
}

// Open implements driver.Driver. Foreign requests do not read what is mounted: a remote party may not
// lead to files of this machine.
func (b *behind) Open(ctx context.Context, req *driver.Request) (*driver.Response, error) {
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
	b.mounted.env.Logger().Info(fmt.Sprintf("read from where it is mounted, %s, as the server was of no help", dir), "error", err)
	dup := *req
	dup.URL = f
	if dup.From, err = (uri.File{Path: dir + "/"}).URI(); err != nil {
		return nil, err
	}
	return b.mounted.env.Open(ctx, &dup)
}

// CloseIdleConnections implements driver.IdleCloser.
func (b *behind) CloseIdleConnections() {
	if c, ok := b.Driver.(driver.IdleCloser); ok {
		c.CloseIdleConnections()
	}
}

// Explain implements driver.Explainer.
func (b *behind) Explain(req *driver.Request) ([]string, error) {
	x, ok := b.Driver.(driver.Explainer)
	if !ok {
		return nil, nil
	}
	steps, err := x.Explain(req)
	if f, _, missing := b.mounted.file(req.URL); err == nil && missing == nil && !b.mounted.env.ForeignRequest(req) {
		steps = append(steps, "or else open "+f.String()+", where it is mounted")
	}
	return steps, err
}

var (
	_ driver.IdleCloser = (*behind)(nil)
	_ driver.Explainer  = (*behind)(nil)
)
