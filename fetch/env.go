package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"

	"github.com/urlget/urlget/fetch/uri"
)

type env struct {
	client *Client
}

// Credential implements Env.
func (e *env) Credential(ctx context.Context, ch Challenge) (Credential, error) {
	prov := provenanceOf(ctx)
	cred, err := e.credential(ctx, prov, ch)
	if err == nil {
		prov.addLogin(cred)
	}
	return cred, err
}

func (e *env) credential(ctx context.Context, prov *provenance, ch Challenge) (Credential, error) {
	if prov.anonymous && ch.Mechanism != "proxy" {
		return Credential{}, ErrAuth
	}
	ch.Foreign = prov.foreign
	if ch.From.IsZero() {
		if ch.From = prov.referrer; ch.From.IsZero() {
			ch.From = prov.from
		}
	}
	ch.Attempt = max(ch.Attempt, 1)
	user, _ := ch.URL.User()
	password, hasPassword := ch.URL.Password()
	if hasPassword && !ch.Question {
		if ch.Attempt == 1 {
			return Credential{User: user, Password: password}, nil
		}
		ch.Attempt--
		ch.Tried = true
	}
	if ch.User == "" {
		ch.User = user
	}
	if e.client.opts.Credentials == nil {
		return Credential{}, ErrAuth
	}
	return e.client.opts.Credentials.Credential(ctx, ch)
}

// Open implements Env.
func (e *env) Open(ctx context.Context, req *Request) (*Response, error) {
	prov := provenanceOf(ctx)
	if prov.hops == nil {
		return nil, errors.New("fetch: Env.Open called with a foreign context")
	}
	dup := *req
	if dup.From.IsZero() {
		dup.From = prov.url
	}
	dup.Anonymous = dup.Anonymous || prov.anonymous
	dup.NoCookies = dup.NoCookies || prov.noCookies
	var before *provenance
	if dup.From.String() == prov.url.String() {
		before = prov
	}
	if err := prov.hops.add(); err != nil {
		return nil, asError(req.Op.String(), req.URL, err)
	}
	return e.client.follow(ctx, &dup, prov.hops, before)
}

// viaGateway is the provenance before a request to a gateway of the user.
var viaGateway = &provenance{}

// OpenGateway implements Env.
func (e *env) OpenGateway(ctx context.Context, req *Request) (*Response, error) {
	if provenanceOf(ctx).hops == nil {
		return nil, errors.New("fetch: Env.OpenGateway called with a foreign context")
	}
	dup := *req
	dup.From, dup.NoCookies = uri.URI{}, true
	return e.client.follow(ctx, &dup, &hopCount{max: e.client.maxHops()}, viaGateway)
}

// Exchange implements Env.
func (e *env) Exchange(ctx context.Context, req *Request) (*Response, error) {
	c, outer := e.client, provenanceOf(ctx)
	s, _ := c.registry.Lookup(req.URL.Scheme())
	if s.Driver == nil {
		return nil, unknownScheme(req.URL.Scheme())
	}
	p := &provenance{url: req.URL, from: outer.from, referrer: outer.referrer, foreign: outer.foreign,
		untrusted: outer.untrusted, fromLocal: outer.fromLocal, publicOnly: outer.publicOnly,
		anonymous: outer.anonymous, noCookies: outer.noCookies, traits: s.Traits, client: c,
		hops: outer.hops, recording: outer.recording}
	if err := c.policy.checkURL(p, s); err != nil {
		return nil, err
	}
	if err := checkBody(s, req); err != nil {
		return nil, err
	}
	var err error
	if p.proxy, err = c.chooseProxy(req, s, p); err != nil {
		return nil, err
	}
	resp, err := c.dispatch(withProvenance(ctx, p), req)
	where := place(p.place.Load())
	outer.recordPlace(where)
	from, _ := c.registry.Lookup(outer.url.Scheme())
	c.recordPlace(serverOf(outer.url, from.Port), where)
	outer.conn.Store(p.conn.Load())
	for _, secret := range p.knownSecrets(req) { // the driver may read the content for its errors
		outer.secrets.add(secret)
	}
	return resp, err
}

// Proxy implements Env.
func (e *env) Proxy(ctx context.Context) (uri.URI, bool) {
	p := provenanceOf(ctx).proxy
	return p.url, p.forward
}

// Scope implements Env.
func (e *env) Scope(ctx context.Context) string {
	prov := provenanceOf(ctx)
	scope := prov.proxy.url.WithoutUserinfo().String()
	if prov.publicOnly && !e.client.policy.AllowPrivate {
		scope += " public"
	}
	if prov.foreign {
		scope += " foreign"
	}
	if prov.anonymous && !prov.traits.Stateless {
		scope += " anonymous"
	}
	return scope
}

// Foreign implements Env.
func (e *env) Foreign(ctx context.Context) bool {
	return Foreign(ctx)
}

// ForeignRequest implements Env.
func (e *env) ForeignRequest(req *Request) bool {
	var p provenance
	e.client.setProvenance(&p, req, nil, nil)
	return req.Anonymous || p.foreign
}

// TLSConfig implements Env.
func (e *env) TLSConfig(ctx context.Context, host string) *tls.Config {
	cfg, prov := e.tlsConfig(host), provenanceOf(ctx)
	own := !prov.foreign && (!prov.anonymous || prov.traits.Stateless) // as in Scope
	if !own && (len(cfg.Certificates) > 0 || cfg.GetClientCertificate != nil) {
		// A resumed session would also prove the identity.
		cfg.Certificates, cfg.GetClientCertificate, cfg.ClientSessionCache = nil, nil, nil
	}
	return cfg
}

func (e *env) tlsConfig(host string) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if e.client.opts.TLS != nil {
		cfg = e.client.opts.TLS.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	return cfg
}

// Identity implements Env.
func (e *env) Identity() Identity { return e.client.opts.Identity }

// Timeouts implements Env.
func (e *env) Timeouts() Timeouts { return e.client.timeouts }

// Logger implements Env.
func (e *env) Logger() *slog.Logger { return e.client.logger }
