// Package http3 carries the requests of package http over QUIC (RFC 9114). Programs enable it by an
// option:
//
//	http.With(http.Options{QUIC: http3.Over})
//
// QUIC (RFC 9000), the frames of HTTP/3 and field compression (RFC 9204) are those of quic-go. This
// package adds the client's rules: it connects through Env, shares connections only within one
// scope, finds servers by Alt-Svc and falls back to TCP.
//
// A request of an https URL first tries HTTP/3, at the port from Alt-Svc (RFC 7838) or at that of
// the URL. If the handshake takes more than a second, the request uses TCP, and HTTP/3 is not tried
// again for five minutes. HTTP/3 is not used behind a proxy.
//
// Quic-go reports a stream that ends within a DATA frame as io.EOF. A truncated body without
// Content-Length therefore looks complete.
package http3

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/httphead"
)

const maxTries = 3

// Over returns a RoundTripper that sends https requests over HTTP/3, and over tcp if the server
// cannot be reached. It is a value for the option QUIC of package http.
func Over(env fetch.Env, tcp http.RoundTripper) http.RoundTripper {
	return overWithin(handshakeTimeout, env, tcp)
}

func overWithin(handshakeTimeout time.Duration, env fetch.Env, tcp http.RoundTripper) http.RoundTripper {
	return &transport{env: env, tcp: tcp, handshakeTimeout: handshakeTimeout, services: newServices()}
}

type transport struct {
	env              fetch.Env
	tcp              http.RoundTripper
	handshakeTimeout time.Duration
	services         *services
	pool             pool
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, proxied := t.env.Proxy(req.Context()); proxied || req.URL.Scheme != "https" {
		return t.tcp.RoundTrip(req)
	}
	o := originOf(req.URL)
	resp, err := t.roundTrip(req, o)
	if errors.Is(err, errNoHTTP3) {
		resp, err = t.tcp.RoundTrip(req)
	}
	if err == nil {
		t.services.learn(o, resp.Header)
	}
	return resp, err
}

// errNoHTTP3 is returned if the server cannot be reached over HTTP/3 and nothing was sent.
var errNoHTTP3 = errors.New("the server cannot be reached over HTTP/3")

func (t *transport) roundTrip(req *http.Request, o origin) (*http.Response, error) {
	for try := 1; ; try++ {
		c, reused, err := t.connect(req.Context(), o)
		if err != nil {
			if err != errNoHTTP3 && req.Body != nil {
				req.Body.Close()
			}
			return nil, err
		}
		if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: c.socket, Reused: reused})
		}
		resp, err := t.roundTripOn(c, req)
		if err == nil || req.Context().Err() != nil {
			return resp, err
		}
		lost := (*lostError)(nil)
		if !errors.As(err, &lost) || try == maxTries ||
			!(lost.unprocessed || reused && httphead.IsSafe(req.Method)) || !rewind(req) {
			return nil, err
		}
		t.pool.retire(c)
		if lost.fallBack {
			t.services.fail(o, c.key.addr)
			return nil, errNoHTTP3
		}
	}
}

func rewind(req *http.Request) bool {
	switch {
	case !hasBody(req):
		return true
	case req.GetBody == nil:
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	req.Body = body
	return true
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func (t *transport) connect(ctx context.Context, o origin) (c *conn, reused bool, err error) {
	addr, ok := t.services.at(o)
	if !ok {
		return nil, false, errNoHTTP3
	}
	key := connKey{scope: t.env.Scope(ctx), origin: o, addr: addr}
	c, reused, err = t.pool.get(ctx, key, func() (*conn, error) { return t.dial(ctx, key) })
	switch refused := fetch.CodeOf(err) == fetch.ErrPolicy; {
	case err == nil:
		return c, reused, nil
	case ctx.Err() != nil:
		return nil, false, context.Cause(ctx)
	case refused && addr == o.addr() && !isProxy(err):
		return nil, false, err
	// A refusal of this request does not apply to others.
	case !refused:
		t.services.fail(o, addr)
	}
	t.env.Logger().Debug("HTTP/3 failed", "server", addr, "error", err)
	return nil, false, errNoHTTP3
}

// isProxy reports whether err is about a proxy, which cannot carry datagrams.
func isProxy(err error) bool {
	var own *fetch.Error
	return errors.As(err, &own) && own.Reason.Kind == fetch.ReasonProxy
}

// CloseIdleConnections closes the connections that serve no request, and the others as soon as they
// are idle.
func (t *transport) CloseIdleConnections() { t.pool.closeIdle() }

type origin struct{ host, port string }

func (o origin) addr() string { return net.JoinHostPort(o.host, o.port) }

func originOf(u *url.URL) origin {
	o := origin{host: u.Hostname(), port: u.Port()}
	if o.port == "" {
		o.port = "443"
	}
	return o
}
