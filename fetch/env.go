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
)

// An Env is what a client provides to its drivers: their only access to the network, to secrets, to
// the log and to other URLs.
type Env struct {
	client *Client
}

// Credential answers a server's challenge: on the first attempt with the user and password in the
// URL, if there are any, and otherwise from the client's Credentials. If there is no answer, the
// error matches ErrAuth. For an anonymous request there are answers only for a proxy.
func (e *Env) Credential(ctx context.Context, ch Challenge) (Credential, error) {
	prov := provenanceOf(ctx)
	if prov.anonymous && ch.Mechanism != "proxy" {
		return Credential{}, ErrAuth
	}
	ch.Foreign = prov.foreign
	if ch.From.IsZero() {
		if ch.From = prov.led; ch.From.IsZero() {
			ch.From = prov.from
		}
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

// Open retrieves another URL on behalf of a driver, under the policy and within the redirect limit
// of the request that ctx belongs to. If req.From is zero, it is set to the URL of that request.
func (e *Env) Open(ctx context.Context, req *Request) (*Response, error) {
	prov := provenanceOf(ctx)
	if prov.hops == nil {
		return nil, errors.New("fetch: Env.Open called with a foreign context")
	}
	dup := *req
	if dup.From.IsZero() {
		dup.From = prov.url
	}
	dup.Anonymous = dup.Anonymous || prov.anonymous
	var before *provenance
	if dup.From.String() == prov.url.String() {
		before = prov
	}
	if err := prov.hops.take(); err != nil {
		return nil, asError(req.Op.String(), req.URL, err)
	}
	return e.client.follow(ctx, &dup, prov.hops, before)
}

// Proxy returns the forward proxy that retrieves the request's URL, if there is one. Proxies that
// tunnel are handled by Dial.
func (e *Env) Proxy(ctx context.Context) (uri.URI, bool) {
	p := provenanceOf(ctx).proxy
	return p.url, p.forward
}

// Scope returns a token for what a connection made under ctx may be used for: it must not serve
// requests of another scope. [Pool] takes care of that; a driver with a different kind of pool must
// include the scope in its key.
//
// Scopes separate connections through different proxies, connections made while the policy forbade
// private addresses, and connections of foreign or anonymous requests (see Foreign and [Request]),
// which may have different credentials from the user's own requests.
func (e *Env) Scope(ctx context.Context) string {
	prov := provenanceOf(ctx)
	scope := prov.proxy.url.WithoutUserinfo().String()
	if prov.publicOnly && !e.client.policy.AllowPrivate {
		scope += " public"
	}
	if prov.foreign {
		scope += " foreign"
	}
	if prov.anonymous {
		scope += " anonymous"
	}
	return scope
}

// Foreign reports whether the request of ctx serves somebody other than the user: another origin
// led here, even if several hops ago, or the policy calls all requests untrusted.
//
// It is the only question that a driver asks before it uses anything that belongs to the user: a
// login, a key, an agent, a cookie, an account, a reserved port, a mailbox, a configuration file.
// None of these is for a foreign request, except a login in its URL. Request.From does not answer
// the question: it is zero for jobs of a queue, and it does not tell of earlier hops. A driver that
// remembers logins must not use those of one kind of request for the other. Credential,
// TLSConfig and Scope take care of their parts. Anonymous requests (see [Request]) count as foreign,
// except for TLSConfig.
func (e *Env) Foreign(ctx context.Context) bool {
	prov := provenanceOf(ctx)
	return prov.anonymous || prov.foreign
}

// ForeignRequest reports whether Foreign would be true in the exchange for req. It is for
// [Explainer], which has no context.
func (e *Env) ForeignRequest(req *Request) bool {
	return req.Anonymous || e.client.provenance(req, nil, nil).foreign
}

// TLSConfig returns a new configuration for a connection to host. If the request of ctx is foreign,
// the configuration has no client certificates.
func (e *Env) TLSConfig(ctx context.Context, host string) *tls.Config {
	cfg := e.tlsConfig(host)
	if provenanceOf(ctx).foreign && (len(cfg.Certificates) > 0 || cfg.GetClientCertificate != nil) {
		// A resumed session would prove the identity as well.
		cfg.Certificates, cfg.GetClientCertificate, cfg.ClientSessionCache = nil, nil, nil
	}
	return cfg
}

func (e *Env) tlsConfig(host string) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if e.client.opts.TLS != nil {
		cfg = e.client.opts.TLS.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	return cfg
}

// Handshake performs a TLS handshake as a client on conn, within the connect timeout; reads and
// writes are encrypted from then on. Errors are of class ErrTLS, or ErrNetwork if the network
// failed. On failure conn is closed.
func (e *Env) Handshake(ctx context.Context, conn *Conn, cfg *tls.Config) error {
	t := conn.upgrade(func(raw net.Conn) *tls.Conn { return tls.Client(raw, cfg) })
	if err := e.handshake(ctx, t); err != nil {
		conn.Abort()
		return err
	}
	conn.rec.Load().peer(conn.RemoteAddr(), conn.TLS())
	return nil
}

func (e *Env) handshake(ctx context.Context, t *tls.Conn) error {
	ctx, cancel := e.connectContext(ctx, "the TLS handshake did not end within %v")
	defer cancel()
	err := t.HandshakeContext(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	switch code, retry := classify(err); {
	case errors.Is(err, os.ErrDeadlineExceeded): // the peer fell silent, which is no failure of TLS
		return &Error{Code: ErrNetwork, Retry: retry, Err: fmt.Errorf("in the TLS handshake: %w", err)}
	case code == ErrNetwork:
		return &Error{Code: ErrTLS, Retry: retry, Err: fmt.Errorf("the handshake was cut off: %w", err)}
	}
	return &Error{Code: ErrTLS, Err: err}
}

// Identity returns how the client identifies itself.
func (e *Env) Identity() Identity { return e.client.opts.Identity }

// Timeouts returns the timeouts with defaults filled in; 0 means none. Dial applies Connect and
// Idle by itself.
func (e *Env) Timeouts() Timeouts { return e.client.timeouts }

// Logger returns the client's logger. It is never nil.
func (e *Env) Logger() *slog.Logger { return e.client.logger }
