package fetch

import (
	"context"
	"errors"
	"net/netip"
)

// The functions of this file are for middleware that answers requests from a cache, and for recorders
// that fill it. Ctx is the context of an exchange, as passed to a Recorder or a Middleware.

// Foreign reports whether the exchange serves a party other than the user: another origin led to it, or
// Policy.Untrusted is set. See [Env].
func Foreign(ctx context.Context) bool {
	p := provenanceOf(ctx)
	return p.anonymous || p.foreign
}

// Proxied reports whether a proxy carries the exchange, so that the peer of its connection is not the
// server.
func Proxied(ctx context.Context) bool { return !provenanceOf(ctx).proxy.url.IsZero() }

// VariantOf returns the variant of a request in an exchange. See [Varier]. It returns nil for
// schemes without variants.
func VariantOf(ctx context.Context, req *Request, login bool) (*Variant, error) {
	p := provenanceOf(ctx)
	if p.client == nil {
		return nil, errors.New("fetch: not the context of an exchange")
	}
	s, _ := p.client.registry.Lookup(req.URL.Scheme())
	d, ok := s.Driver.(Varier)
	if !ok {
		return nil, nil
	}
	return d.Variant(ctx, req, login)
}

// CheckCached applies the rules of the policy on addresses to a response that was received from addr
// earlier. Addr is zero if it is unknown: it then counts as private.
func CheckCached(ctx context.Context, addr netip.Addr) error {
	p := provenanceOf(ctx)
	switch {
	case p.client == nil:
		return errors.New("fetch: not the context of an exchange")
	case addr.IsValid():
		s, _ := p.client.registry.Lookup(p.url.Scheme())
		return p.client.policy.checkAddr(p, netip.AddrPortFrom(addr, p.url.Port(s.Port)))
	case p.publicOnly && !p.client.policy.AllowPrivate && p.url.Host() != "":
		return refusal(Reason{Kind: ReasonPrivate, Host: p.url.Host()},
			"the address of the server is unknown")
	}
	return nil
}

// ServedFromCache records that the exchange is answered with a response that was received from addr
// earlier. What it leads to has the same provenance as if a connection to addr had served it.
func ServedFromCache(ctx context.Context, addr netip.Addr) {
	p := provenanceOf(ctx)
	if p.client == nil || !addr.IsValid() {
		return
	}
	where := placePublic
	if isPrivate(addr) {
		where = placePrivate
	}
	p.recordPlace(where)
	s, _ := p.client.registry.Lookup(p.url.Scheme())
	p.client.recordPlace(p.url.HostPort(s.Port), where)
}
