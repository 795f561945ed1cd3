package fetch

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/urlget/urlget/fetch/uri"
)

// A provenance is the part of a request that the dialer needs. The context carries it.
type provenance struct {
	url, from uri.URI
	// referrer is the latest resource of the chain that led to a different origin; zero if there is
	// none.
	referrer uri.URI
	// foreign is set if another origin led here or Policy.Untrusted is set. The user's credentials
	// are then not used. See Env.Foreign.
	foreign bool
	// untrusted is set if an untrusted party supplied URL. From cannot be trusted then.
	untrusted bool
	traits    Traits // of the scheme that serves the request
	fromLocal bool   // from is of a Local scheme
	anonymous bool   // as Request.Anonymous
	noCookies bool   // as Request.NoCookies
	client    *Client
	// publicOnly is set if URL was supplied by a resource on a public address.
	publicOnly bool
	// hops is shared by all exchanges of a user's request.
	hops      *hopCount
	proxy     proxyChoice
	recording *recording // of this exchange; nil if there is none
	// place holds the place of the server.
	place atomic.Uint32
	// conn holds the connection that serves the exchange; the latest one if there are several.
	conn    atomic.Pointer[Conn]
	secrets secrets // of the logins of the exchange

	mu      sync.Mutex
	earlier []*Conn // some that served the exchange before conn
}

// maxEarlier limits provenance.earlier. FTP has two connections.
const maxEarlier = 4

// dialed notes a connection made for the exchange. It may not be the one that the driver chooses.
func (p *provenance) dialed(c *Conn) {
	p.recordPlace(p.placeOf(c))
	p.conn.CompareAndSwap(nil, c)
}

// served notes a connection, new or reused, that the driver has chosen.
func (p *provenance) served(c *Conn) {
	p.recordPlace(p.placeOf(c))
	if before := p.conn.Swap(c); before != nil && before != c {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.earlier) < maxEarlier && !slices.Contains(p.earlier, before) {
			p.earlier = append(p.earlier, before)
		}
	}
}

func (p *provenance) placeOf(c *Conn) place {
	if !p.proxy.url.IsZero() {
		return placeUnknown
	}
	return placeOf(c.RemoteAddr())
}

// A place is the kind of a server's address: private, public or unknown.
type place uint32

const (
	placeUnknown place = iota // behind a proxy, or not contacted
	placePrivate
	placePublic
)

func placeOf(addr net.Addr) place {
	var ap netip.AddrPort
	var err error
	if tcp, ok := addr.(*net.TCPAddr); ok {
		ap = tcp.AddrPort()
	} else {
		ap, err = netip.ParseAddrPort(addr.String())
	}
	switch {
	case err != nil:
		return placeUnknown
	case isPrivate(ap.Addr()):
		return placePrivate
	}
	return placePublic
}

// recordPlace records the place of a server of the exchange. A public place takes precedence over
// others.
func (p *provenance) recordPlace(where place) {
	switch where {
	case placePublic:
		p.place.Store(uint32(where))
	case placePrivate:
		p.place.CompareAndSwap(uint32(placeUnknown), uint32(where))
	}
}

type provenanceKey struct{}

func withProvenance(ctx context.Context, p *provenance) context.Context {
	return context.WithValue(ctx, provenanceKey{}, p)
}

// provenanceIn returns the provenance of the exchange of ctx, or nil outside exchanges.
func provenanceIn(ctx context.Context) *provenance {
	p, _ := ctx.Value(provenanceKey{}).(*provenance)
	return p
}

// provenanceOf is provenanceIn, but never returns nil.
func provenanceOf(ctx context.Context) *provenance {
	if p := provenanceIn(ctx); p != nil {
		return p
	}
	return &provenance{}
}

// setProvenance sets p to the provenance of req. Before is the provenance of the exchange that led to
// req. If it is nil, the recorded place of the host of req.From is used.
func (c *Client) setProvenance(p *provenance, req *Request, hops *hopCount, before *provenance) {
	if before == viaGateway {
		*p = provenance{url: req.URL, hops: hops, foreign: true}
		return
	}
	*p = provenance{url: req.URL, from: req.From, hops: hops, foreign: c.policy.Untrusted,
		publicOnly: c.policy.Untrusted}
	if p.untrusted = before == nil && c.policy.Untrusted; p.untrusted || req.From.IsZero() {
		return
	}
	s, _ := c.registry.Lookup(req.From.Scheme())
	p.fromLocal = s.Local && !c.policy.Untrusted
	where := placeUnknown
	if before != nil {
		where = place(before.place.Load())
	}
	switch where {
	case placePrivate:
	case placePublic:
		p.publicOnly = true
	default:
		// A page in a local file may come from anywhere: saved, mirrored, unpacked. But what the driver of
		// a local URL opens itself is the user's own.
		p.publicOnly = !c.isPrivate(req.From, s.Port) && !(s.Local && before != nil && !before.publicOnly)
	}
	p.publicOnly = p.publicOnly || c.policy.Untrusted
	switch {
	case req.From.Origin() != req.URL.Origin(), before != nil && req.From.Origin() != before.url.Origin():
		p.referrer = req.From
	case before != nil:
		p.referrer = before.referrer
	}
	p.foreign = p.foreign || !p.referrer.IsZero() || before != nil && before.foreign
}

// isPrivate reports whether u names a private address, or a host that was found only at private
// addresses. Port is the default port.
func (c *Client) isPrivate(u uri.URI, port uint16) bool {
	host := u.Host()
	if addr, err := netip.ParseAddr(host); err == nil {
		return isPrivate(addr)
	}
	return isLocalhost(host) || c.private.Has(serverOf(u, port))
}

// serverOf returns the server of u as "host:port". Without a port, only the scheme knows the server.
func serverOf(u uri.URI, port uint16) string {
	if u.Port(port) == 0 {
		return u.Scheme() + "://" + u.Host()
	}
	return u.HostPort(port)
}

// recordPlace records the place of addr, a "host:port".
func (c *Client) recordPlace(addr string, where place) {
	switch where {
	case placePublic:
		c.public.Add(addr)
		c.private.Remove(addr)
	case placePrivate:
		if !c.public.Has(addr) {
			c.private.Add(addr)
		}
	}
}
