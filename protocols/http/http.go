// Package http retrieves http and https URLs, and through forward proxies those of other schemes:
// one exchange at a time, with the messages of net/http (RFC 9110, RFC 9112, RFC 9113). Package http3
// adds HTTP/3; only programs that import it, or package protocols, link QUIC.
package http

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"sync"
	"sync/atomic"

	"golang.org/x/net/publicsuffix"

	"github.com/urlget/urlget/fetch/driver"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// HTTP1 uses HTTP/1.1 even where a server offers HTTP/2, which is faster for one large body and
	// slower for many small ones.
	HTTP1 bool
	// HTTP2 insists on HTTP/2 with servers of https. It makes no difference to others, and if HTTP1
	// is set.
	HTTP2 bool
	// Single says that one URL is wanted, or few. Servers are then offered HTTP/2 only if they refuse
	// HTTP/1.1, which takes less work for one body: it comes in larger pieces and without windows. It
	// makes no difference if HTTP1 or HTTP2 is set.
	Single bool
	// Compressed asks for gzip, deflate, br and zstd, and decodes them. Then Meta.Size is unknown.
	// It has no effect on requests for a range.
	Compressed bool
	// MaxIdle is how many idle connections to one server are kept for reuse, 16 at least.
	MaxIdle int
	// Jar keeps cookies. Nil means a jar of the client's own, which lives as long as the client.
	Jar http.CookieJar
	// Transport answers requests in place of servers, as an archive does. Nil means the network.
	Transport http.RoundTripper
	// HTTP3 returns what asks servers of https by HTTP/3, and by tcp those that it cannot reach so. The
	// function Over of package protocols/http/http3 is one. Nil means that HTTP/3 is not spoken. It
	// makes no difference if HTTP1, HTTP2 or Transport is set.
	HTTP3 func(env driver.Env, tcp http.RoundTripper) http.RoundTripper
}

// Load registers the driver with its defaults.
func Load(env driver.Env, reg *driver.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) driver.Loader {
	return func(env driver.Env, reg *driver.Registry) {
		d := newDriver(env, opts)
		ops := []driver.Op{driver.OpGet, driver.OpStat}
		traits := driver.Traits{RedirectTarget: true, Tree: true, Pages: true, HTML: true, Robots: "/robots.txt"}
		reg.Register(driver.Scheme{Name: "http", Port: 80, Ops: ops, Ranges: true, RangeSets: true, ForwardProxy: true, Bodies: true, Traits: traits,
			Summary: "Hypertext Transfer Protocol (RFC 9110)", Driver: d})
		reg.Register(driver.Scheme{Name: "https", Port: 443, Ops: ops, Ranges: true, RangeSets: true, Bodies: true, Traits: traits,
			Summary: "HTTP over TLS, HTTP/2 included (RFC 9110)", Driver: d})
	}
}

type opener struct {
	Options
	env      driver.Env
	logins   logins
	closings atomic.Int64 // calls of CloseIdleConnections
	cookies  atomic.Bool  // the jar may have some
	http1    *http1
	http3    http.RoundTripper // nil if HTTP/3 is not spoken

	mu         sync.Mutex
	transports map[string]*http.Transport // by Env.Scope
}

func newDriver(env driver.Env, opts Options) *opener {
	d := &opener{Options: opts, env: env}
	if d.cookies.Store(d.Jar != nil); d.Jar == nil {
		// The error is always nil.
		d.Jar, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	}
	d.http1 = newHTTP1(d)
	if opts.HTTP3 != nil && !opts.HTTP1 && !opts.HTTP2 && opts.Transport == nil {
		d.http3 = opts.HTTP3(env, overTCP{d})
	}
	return d
}

// Open performs one exchange, and answers challenges on the way.
func (d *opener) Open(ctx context.Context, req *driver.Request) (*driver.Response, error) {
	rec := newRecord(ctx, d.env)
	if req.Op == driver.OpGet {
		method, err := methodOf(req)
		if err != nil {
			return nil, err
		}
		return d.exchange(ctx, req, method, rec)
	}
	resp, err := d.exchange(ctx, req, http.MethodHead, rec)
	if code := replyCode(err); code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented {
		resp, err = d.exchange(ctx, req, http.MethodGet, rec)
	}
	if err == nil {
		resp.Body.Close()
		resp.Body = driver.NoBody
	}
	return resp, err
}

// replyCode returns the status that err is about, or 0.
func replyCode(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Reply.Code
	}
	return 0
}

// exchange sends one request, and again with a login if the server asks for one.
func (d *opener) exchange(ctx context.Context, req *driver.Request, method string, rec *record) (*driver.Response, error) {
	t, err := d.newTarget(ctx, req, method)
	if err != nil {
		return nil, err
	}
	auth := d.authenticators(ctx, req, t)
	for {
		ex, err := d.send(ctx, req, t, auth, rec)
		if err != nil {
			return nil, t.once(err)
		}
		again, err := ex.challenged(ctx, auth)
		if err != nil {
			return nil, ex.refused(err)
		}
		if again {
			if err := t.reopen(req); err != nil {
				return nil, ex.refused(err)
			}
			ex.discard()
			continue
		}
		resp, err := ex.response()
		if err != nil {
			return nil, ex.refused(err)
		}
		if len(resp.Location) > 0 {
			ex.discard()
		}
		return resp, nil
	}
}

var (
	_ driver.Driver     = (*opener)(nil)
	_ driver.IdleCloser = (*opener)(nil)
	_ driver.Explainer  = (*opener)(nil)
)
