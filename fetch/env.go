package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
)

// An Env is all that a client lends its drivers: their only door to the
// network, to secrets, to the log and to other URLs.
type Env struct {
	client *Client
}

// Credential answers a server's challenge: with the user and password that
// the URL holds, at the first attempt, else from the client's Credentials.
// The error matches ErrAuth if there is no answer.
func (e *Env) Credential(ctx context.Context, ch Challenge) (Credential, error) {
	if ch.From.IsZero() {
		ch.From = provenanceOf(ctx).from
	}
	ch.Attempt = max(ch.Attempt, 1)
	user, _ := ch.URL.User()
	password, given := ch.URL.Password()
	if given {
		if ch.Attempt == 1 {
			return Credential{User: user, Password: password}, nil
		}
		ch.Attempt--
	}
	if ch.User == "" {
		ch.User = user
	}
	if e.client.opts.Credentials == nil {
		return Credential{}, ErrAuth
	}
	return e.client.opts.Credentials.Credential(ctx, ch)
}

// Open retrieves another URL for a driver, under the policy and with the hop
// limit of the request that ctx belongs to. If req.From is zero, it is set to
// that request's URL.
func (e *Env) Open(ctx context.Context, req *Request) (*Response, error) {
	prov := provenanceOf(ctx)
	if prov.hops == nil {
		return nil, errors.New("fetch: Env.Open called with a foreign context")
	}
	dup := *req
	if dup.From.IsZero() {
		dup.From = prov.url
	}
	if err := prov.hops.take(); err != nil {
		return nil, asError(req.Op.String(), req.URL, err)
	}
	return e.client.follow(ctx, &dup, prov.hops)
}

// Proxy returns the proxy that is to retrieve the request's URL itself, as
// HTTP proxies do. Proxies that tunnel are Dial's affair.
func (e *Env) Proxy(ctx context.Context) (uri.URI, bool) {
	p := provenanceOf(ctx).proxy
	return p.url, p.relay
}

// Scope returns a token for what the policy lets a connection be used for.
// It must be part of the key under which a driver keeps idle connections.
func (e *Env) Scope(ctx context.Context) string {
	prov := provenanceOf(ctx)
	scope := prov.proxy.url.WithoutUserinfo().String()
	if prov.publicOnly && !e.client.policy.AllowPrivate {
		scope += " public"
	}
	return scope
}

// From returns the resource that supplied the URL being opened; zero if the
// user did.
func (e *Env) From(ctx context.Context) uri.URI { return provenanceOf(ctx).from }

// TLSConfig returns a configuration of its own for a connection to host.
func (e *Env) TLSConfig(host string) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if e.client.opts.TLS != nil {
		cfg = e.client.opts.TLS.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	return cfg
}

// Handshake makes conn a TLS connection as the client, within the connect
// timeout. Errors are of class ErrTLS, or ErrNetwork if the network failed.
// conn is closed if it fails.
func (e *Env) Handshake(ctx context.Context, conn net.Conn, cfg *tls.Config) (*tls.Conn, error) {
	ctx, cancel := e.connectContext(ctx)
	defer cancel()
	t := tls.Client(conn, cfg)
	if err := t.HandshakeContext(ctx); err != nil {
		conn.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch code, retry := classify(err); {
		case errors.Is(err, os.ErrDeadlineExceeded): // the peer fell silent, which is not what TLS is about
			return nil, &Error{Code: ErrNetwork, Retry: retry, Err: err}
		case code == ErrNetwork:
			return nil, &Error{Code: ErrTLS, Retry: retry, Err: fmt.Errorf("the handshake was cut off: %w", err)}
		}
		return nil, &Error{Code: ErrTLS, Err: err}
	}
	return t, nil
}

// Identity returns what to say of the client.
func (e *Env) Identity() Identity { return e.client.opts.Identity }

// Timeouts returns the bounds of waits, defaults filled in; 0 means none.
// Dial applies Connect and Idle by itself.
func (e *Env) Timeouts() Timeouts { return e.client.timeouts }

// Logger returns the client's logger, never nil.
func (e *Env) Logger() *slog.Logger { return e.client.logger }

// Trace returns the client's conversation trace; nil if nobody listens.
// Drivers must mask secrets before they call it.
func (e *Env) Trace() func(sent bool, line string) { return e.client.opts.Trace }

// Policy returns the client's rules.
func (e *Env) Policy() Policy { return *e.client.policy }

// Bind makes I/O on conn fail with the cause of ctx once ctx is done; release
// undoes it, and reports whether conn is reusable. conn must come from
// Env.Dial or Env.Handshake, or be layered on such a connection with a
// NetConn method.
func Bind(ctx context.Context, conn net.Conn) (release func() bool) {
	return wireConn(conn).Bind(ctx)
}

// wireConn finds the connection that enforces deadlines under conn.
func wireConn(conn net.Conn) *wire.Conn {
	for {
		switch c := conn.(type) {
		case *wire.Conn:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return wire.NewConn(conn, 0)
		}
	}
}
