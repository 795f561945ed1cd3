// Package http retrieves http and https URLs, the files and directories of WebDAV (RFC 4918), and through
// forward proxies URLs of other schemes.
// It performs one exchange at a time, with the messages of net/http (RFC 9110, RFC 9112, RFC 9113).
// Package http3 adds HTTP/3. Only programs that import it, or package protocols, link QUIC.
package http

import (
	"context"
	"errors"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/bounded"
	"github.com/urlget/urlget/protocols/http/hsts"
)

// Options configure the driver. The zero value selects the defaults.
type Options struct {
	// Protocols are the versions to use for https. 0 means all: HTTP/2 if the server offers it,
	// which is slower for one large body and faster for many small ones, and HTTP/3 if QUIC is set.
	// Requests of http URLs use HTTP/1.1.
	Protocols Protocols
	// QUIC returns the transport for HTTP/3. It falls back to tcp for servers that it cannot reach.
	// Set it to function Over of package protocols/http/http3. If nil, HTTP/3 is disabled. It is
	// ignored if Transport is set.
	QUIC func(env fetch.Env, tcp http.RoundTripper) http.RoundTripper
	// Single optimizes for one URL or few. HTTP/2 is then offered only to servers that refuse
	// HTTP/1.1, which transfers one body with less work, in larger pieces and without flow control
	// windows. It is ignored if Protocols has only one of the two.
	Single bool
	// Compressed requests gzip, deflate, br or zstd coding and decodes it. Meta.Size is unknown
	// then. It has no effect on range requests.
	Compressed bool
	// Unasked sends logins with Basic before the server asks (RFC 7617, section 2.2), for servers that hide
	// what needs a login. Foreign requests (see fetch.Env) have none.
	Unasked bool
	// AWSSigV4 signs requests with AWS Signature Version 4, or as another provider, for which it is
	// PROVIDER1[:PROVIDER2[:REGION[:SERVICE]]] as in curl. By default, the host name begins with
	// SERVICE.REGION. The login for the server is the access key and its secret. Requests without a login
	// or with a field Authorization are not signed.
	AWSSigV4 string
	// MaxIdle is the number of idle connections kept per server. The minimum is 16.
	MaxIdle int
	// Jar stores cookies. Nil means a [cookies.Jar] that belongs to the client.
	Jar http.CookieJar
	// HSTS, if not nil, stores the hosts that want https only. Their http URLs are requested with
	// https, except from Transport.
	HSTS *hsts.Store
	// Transport serves requests instead of the network, for example from an archive. Nil means the
	// network.
	Transport http.RoundTripper
}

// Protocols is a set of versions of HTTP.
type Protocols uint8

// The versions. HTTP3 is tried first. If it fails, or is the only one, the request is sent over
// TCP: with HTTP1 alone, HTTP2 alone, or the one that the server chooses.
const (
	HTTP1 Protocols = 1 << iota
	HTTP2
	HTTP3
)

// overTCP reports whether HTTP/1.1 and HTTP/2 are offered for https.
func (p Protocols) overTCP() (http1, http2 bool) {
	unset := p&(HTTP1|HTTP2) == 0
	return unset || p&HTTP1 != 0, unset || p&HTTP2 != 0
}

// Load registers the driver with its defaults.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the driver with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		d := newDriver(env, opts)
		scheme := fetch.Scheme{
			Name: "http", Port: 80, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Ranges: true, RangeSets: true, ForwardProxy: true, Bodies: true, Driver: d,
			Traits: fetch.Traits{RedirectTarget: true, Tree: true, Pages: true, HTML: true,
				Robots: "/robots.txt", Stateless: true},
			Summary: "Hypertext Transfer Protocol (RFC 9110)",
		}
		reg.Register(scheme)
		scheme.Name, scheme.Port, scheme.ForwardProxy = "https", 443, false
		scheme.Summary = "HTTP over TLS, including HTTP/2 (RFC 9110)"
		reg.Register(scheme)
		registerDAV(d, reg)
	}
}

type opener struct {
	Options
	env       fetch.Env
	logins    logins
	tried     driver.Logins
	versions  versions
	davPlaces *bounded.Set[davPlace]
	closings  atomic.Int64 // number of calls of CloseIdleConnections
	cookies   atomic.Bool  // the jar may have cookies
	ownJar    bool         // the jar is that of the program
	http1     *http1
	http3     http.RoundTripper // nil if HTTP/3 is disabled

	mu         sync.Mutex
	transports map[transportKey]*http.Transport
}

func newDriver(env fetch.Env, opts Options) *opener {
	d := &opener{Options: opts, env: env, ownJar: opts.Jar != nil,
		davPlaces: bounded.NewSet[davPlace](maxDAV)}
	if d.cookies.Store(d.Jar != nil); d.Jar == nil {
		d.Jar = cookies.New()
	}
	d.http1 = newHTTP1(d)
	if opts.QUIC != nil && (opts.Protocols == 0 || opts.Protocols&HTTP3 != 0) && opts.Transport == nil {
		d.http3 = opts.QUIC(env, overTCP{d})
	}
	return d
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if req.Op == fetch.OpList {
		return d.listPage(ctx, req)
	}
	rec := newRecord(ctx, d.env)
	if req.Op == fetch.OpGet {
		method, err := methodOf(req)
		if err != nil {
			return nil, err
		}
		return d.exchange(ctx, req, method, rec)
	}
	resp, err := d.exchange(ctx, req, http.MethodHead, rec)
	if req.Relay || signsMethod(req.Header) {
		return resp, err
	}
	switch replyCode(err) {
	case http.StatusMethodNotAllowed, http.StatusNotImplemented,
		http.StatusForbidden: // the signature of a URL may be for GET
		resp, err = d.exchange(ctx, req, http.MethodGet, rec)
	}
	if err == nil {
		resp.Body.Close()
		resp.Body = fetch.NoBody
	}
	return resp, err
}

// signsMethod reports whether the caller has signed the request, which then cannot be sent with another
// method.
func signsMethod(h textproto.MIMEHeader) bool {
	return strings.Contains(h.Get("Authorization"), "4-HMAC-SHA256 ")
}

func replyCode(err error) int {
	var e *fetch.Error
	if errors.As(err, &e) {
		return e.Reply.Code
	}
	return 0
}

func (d *opener) exchange(
	ctx context.Context, req *fetch.Request, method string, rec *record,
) (*fetch.Response, error) {
	t, err := d.newTarget(ctx, req, method)
	if err != nil {
		return nil, err
	}
	if err := d.sign(ctx, req, t); err != nil {
		return nil, err
	}
	auth := d.authenticators(ctx, req, t)
	if err := d.logInUnasked(ctx, auth); err != nil {
		return nil, err
	}
	defer func() {
		for _, a := range auth {
			a.endTrials()
		}
	}()
	if err := claimUnasked(ctx, auth, t); err != nil {
		return nil, err
	}
	for {
		ex, err := d.send(ctx, req, t, auth, rec)
		switch {
		case err != nil && requiresHTTP1(err) && d.changeVersion(t, 2) && t.reopen(req) == nil:
			continue
		case err != nil:
			return nil, t.clearRetry(err)
		case refusesVersion(ex.resp) && d.changeVersion(t, ex.resp.ProtoMajor) && t.reopen(req) == nil:
			ex.discard()
			continue
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
		var resp *fetch.Response
		if req.Relay {
			resp, err = ex.relayed()
		} else {
			resp, err = ex.response()
		}
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
	_ fetch.IdleCloser = (*opener)(nil)
	_ fetch.Explainer  = (*opener)(nil)
	_ fetch.Upgrader   = (*opener)(nil)
	_ fetch.Varier     = (*opener)(nil)
)
