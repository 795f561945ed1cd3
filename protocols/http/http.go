// Package http retrieves http and https URLs, and for HTTP proxies those of
// other schemes: one exchange at a time, over net/http's Transport (RFC 9110,
// RFC 9112, RFC 9113).
package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"sync"
	"sync/atomic"

	"golang.org/x/net/publicsuffix"

	"github.com/urlget/urlget/fetch"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// HTTP1 keeps to HTTP/1.1 where a server offers HTTP/2 too, which is
	// faster for one large body and slower for many small ones.
	HTTP1 bool
	// Compressed asks for gzip, deflate, br and zstd, and decodes them.
	// Then Meta.Size is unknown. It has no effect on requests for a range.
	Compressed bool
	// Jar keeps cookies. Nil means one of the client's own that lives as
	// long as it.
	Jar http.CookieJar
}

// Load registers the driver with its defaults.
func Load(env *fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) fetch.Loader {
	return func(env *fetch.Env, reg *fetch.Registry) {
		d := newDriver(env, opts)
		ops := []fetch.Op{fetch.OpGet, fetch.OpStat}
		reg.Register(fetch.Scheme{Name: "http", Port: 80, Ops: ops, Ranges: true, Relayed: true,
			Summary: "Hypertext Transfer Protocol (RFC 9110)", Driver: d})
		reg.Register(fetch.Scheme{Name: "https", Port: 443, Ops: ops, Ranges: true,
			Summary: "HTTP over TLS, HTTP/2 included (RFC 9110)", Driver: d})
	}
}

type driver struct {
	Options
	env      *fetch.Env
	logins   logins
	closings atomic.Int64 // calls of CloseIdleConnections

	mu         sync.Mutex
	transports map[string]*http.Transport // by Env.Scope
}

func newDriver(env *fetch.Env, opts Options) *driver {
	if opts.Jar == nil {
		// The error is always nil.
		opts.Jar, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	}
	return &driver{Options: opts, env: env}
}

// Open performs one exchange, and answers challenges on the way.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	switch req.Op {
	case fetch.OpGet:
		return d.exchange(ctx, req, http.MethodGet)
	case fetch.OpStat:
		resp, err := d.exchange(ctx, req, http.MethodHead)
		if code := replyCode(err); code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented {
			resp, err = d.exchange(ctx, req, http.MethodGet)
		}
		if err == nil {
			resp.Body.Close()
			resp.Body = http.NoBody
		}
		return resp, err
	case fetch.OpList:
		return nil, fmt.Errorf("HTTP has no listings, only pages with links: %w", errors.ErrUnsupported)
	}
	return nil, fmt.Errorf("HTTP has no sessions: %w", errors.ErrUnsupported)
}

// replyCode returns the status that err is about, or 0.
func replyCode(err error) int {
	var e *fetch.Error
	if errors.As(err, &e) {
		return e.Reply.Code
	}
	return 0
}

// exchange sends one request, again if the server wants to know who asks.
func (d *driver) exchange(ctx context.Context, req *fetch.Request, method string) (*fetch.Response, error) {
	t, err := d.newTarget(ctx, req, method)
	if err != nil {
		return nil, err
	}
	auth := d.authenticators(req, t)
	for {
		ex, err := d.send(ctx, req, t, auth)
		if err != nil {
			return nil, err
		}
		again, err := ex.challenged(ctx, auth)
		if err != nil {
			ex.discard()
			return nil, err
		}
		if again {
			ex.discard()
			continue
		}
		resp, err := ex.response()
		if err != nil || len(resp.Location) > 0 {
			ex.discard()
		}
		return resp, err
	}
}

var (
	_ fetch.Driver     = (*driver)(nil)
	_ fetch.IdleCloser = (*driver)(nil)
	_ fetch.Explainer  = (*driver)(nil)
)
