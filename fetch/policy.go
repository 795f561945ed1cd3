package fetch

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/urlget/urlget/fetch/uri"
)

// Policy is the set of security rules; the zero value is the strict default.
// A nil *Policy means the same.
//
// Rules tell two provenances apart: URLs typed by the user, and those that a
// remote party supplied (Request.From is set). The rules for the second are
// stricter:
//
//   - Ports (RFC 1738, section 6): a user may not name a port whose service
//     could be made to act by what we send, such as mail or IRC, unless it is
//     the scheme's own or allowed. A remote party may not name any reserved
//     port (below 1024) but the scheme's own and the port it is at itself.
//   - A remote party may not lead to this machine's files, nor to interactive
//     services or schemes that name no data.
//   - A resource on a public address may not lead to a private, loopback or
//     link-local one. The rule is applied to resolved addresses.
type Policy struct {
	AllowPorts   []uint16 // exempt from the port rules
	AllowPrivate bool     // let public resources lead to private addresses
	AllowFile    bool     // let remote parties lead to local resources
	MaxSize      int64    // refuse bodies larger than this; 0 means no limit
	// CheckURL, if set, is asked after the rules. An error refuses the URL.
	CheckURL func(u, from uri.URI) error
	// CheckAddr, if set, is asked about each resolved address before it is
	// connected to. It does not see hosts that a proxy resolves.
	CheckAddr func(u uri.URI, addr netip.AddrPort) error
}

// riskyPorts are those of services that may act on a request of another
// protocol: what browsers block (the Fetch standard, "port blocking").
var riskyPorts = [...]uint16{
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
	110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
	531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
	5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
}

// checkURL applies the rules that need no address.
func (p *Policy) checkURL(prov *provenance, s Scheme) error {
	u, from := prov.url, prov.from
	if !from.IsZero() && s.Driver != nil {
		if err := p.checkTarget(prov, s); err != nil {
			return err
		}
	}
	if err := p.checkPort(u, from, s); err != nil {
		return err
	}
	if addr, err := netip.ParseAddr(u.Host()); err == nil {
		if err := p.checkPrivate(prov, addr); err != nil {
			return err
		}
	}
	if p.CheckURL != nil {
		if err := p.CheckURL(u, from); err != nil {
			return refusal("%w", err)
		}
	}
	return nil
}

func (p *Policy) checkTarget(prov *provenance, s Scheme) error {
	from := prov.from
	switch {
	case s.Local && !p.AllowFile && !prov.fromLocal:
		return refusal("the remote resource %s may not lead to local ones", from.Redacted())
	case s.State() != "retrieves":
		return refusal("%s leads to a %s URL, which is not followed", from.Redacted(), s.Name)
	}
	return nil
}

func (p *Policy) checkPort(u, from uri.URI, s Scheme) error {
	port := u.Port(s.Port)
	if port == 0 || port == s.Port || slices.Contains(p.AllowPorts, port) {
		return nil
	}
	if !from.IsZero() {
		sameSite := u.Scheme() == from.Scheme() && u.Host() == from.Host() && port == from.Port(s.Port)
		if port < 1024 && !sameSite {
			return refusal("%s led to reserved port %d", from.Redacted(), port).
				withHint(fmt.Sprintf("allow it with --allow-port %d", port))
		}
	}
	if slices.Contains(riskyPorts[:], port) {
		return refusal("port %d belongs to another service", port).
			withHint(fmt.Sprintf("allow it with --allow-port %d", port))
	}
	return nil
}

func refusal(format string, args ...any) *Error {
	return &Error{Code: ErrPolicy, Err: fmt.Errorf(format, args...)}
}

func (e *Error) withHint(hint string) *Error {
	e.Hint = hint
	return e
}

// isPrivate reports whether addr is reserved for private networks, this
// machine or this link.
func isPrivate(addr netip.Addr) bool {
	addr = addr.Unmap()
	return addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsUnspecified() ||
		addr.IsMulticast() || sharedSpace.Contains(addr)
}

// sharedSpace is the carrier-grade NAT range (RFC 6598).
var sharedSpace = netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10)

// provenance is the part of a request that the dialer needs. It travels in
// the context.
type provenance struct {
	url, from uri.URI
	fromLocal bool // from is of a Local scheme
	// publicOnly is set if a resource on a public address supplied the URL.
	publicOnly bool
	// hops is shared by all exchanges of one request of the user.
	hops  *hopCount
	proxy proxyChoice
}

type provenanceKey struct{}

func withProvenance(ctx context.Context, p *provenance) context.Context {
	return context.WithValue(ctx, provenanceKey{}, p)
}

func provenanceOf(ctx context.Context) *provenance {
	if p, ok := ctx.Value(provenanceKey{}).(*provenance); ok {
		return p
	}
	return &provenance{}
}

// checkAddr applies the rules on a resolved address.
func (p *Policy) checkAddr(prov *provenance, addr netip.AddrPort) error {
	if err := p.checkPrivate(prov, addr.Addr()); err != nil {
		return err
	}
	if p.CheckAddr != nil {
		if err := p.CheckAddr(prov.url, addr); err != nil {
			return refusal("%w", err)
		}
	}
	return nil
}

func (p *Policy) checkPrivate(prov *provenance, addr netip.Addr) error {
	if prov.publicOnly && !p.AllowPrivate && isPrivate(addr) {
		return refusal("%s led to the private address %s", prov.from.Redacted(), addr).
			withHint("allow it with --allow-private")
	}
	return nil
}
