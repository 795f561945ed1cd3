package fetch

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/urlget/urlget/fetch/uri"
)

// A Policy is a set of security rules. The zero value and a nil *Policy are the strict default.
//
// The rules distinguish two provenances: URLs given by the user, and URLs supplied by a remote
// party (Request.From is set). The rules for the latter are stricter:
//
//   - Ports (RFC 1738, section 6): a user may not name the port of a service that may act on the
//     bytes of another protocol, such as mail or IRC. The default port of the scheme and AllowPorts
//     are exempt. A remote party may not name a reserved port (below 1024), except the default port
//     of the scheme and the port of its own URL.
//   - A remote party may not lead to local files, interactive services, or schemes that only name
//     things.
//   - A resource on a public address may not lead to a private, loopback or link-local address, and
//     neither may one in a local file, which may have been saved from one. The rule applies to
//     resolved addresses.
//   - A redirect may lead to http, https, ftp and ftps, or stay within its scheme. Following an
//     entry of a menu, a listing or a page is not a redirect.
type Policy struct {
	AllowPorts   []uint16 // exempt from the port rules
	AllowPrivate bool     // let public resources lead to private addresses
	AllowFile    bool     // let remote parties lead to local resources
	// Untrusted means that the URLs of all requests come from an untrusted party, such as the
	// clients of a queue, whatever Request.From is. URLs are treated as if a resource on a public
	// address supplied them, and all requests are foreign (see Env.Foreign). Unless AllowPrivate is
	// set, requests for host names do not use a proxy, because the proxy would resolve them.
	Untrusted bool
	// AllowSessions lets remote parties lead to interactive services, for programs that ask the
	// user first. All other rules apply to these services.
	AllowSessions bool
	// AllowRedirects lists additional schemes, in lower case, that redirects may lead to. Redirects
	// to data URLs are never followed.
	AllowRedirects []string
	MaxSize        int64 // maximum size of a body, in bytes; 0 means no limit
	// CheckURL, if not nil, is called after the other rules. If it returns an error, the URL is
	// refused.
	CheckURL func(u, from uri.URI) error
	// CheckAddr, if not nil, is called with each resolved address before connecting to it. It is
	// not called for hosts that a proxy resolves.
	CheckAddr func(u uri.URI, addr netip.AddrPort) error
}

// riskyPorts are the ports of services that may act on a request in another protocol. Browsers
// block the same ports (the Fetch standard, "port blocking").
var riskyPorts = [...]uint16{
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
	102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389,
	427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
	989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665,
	6666, 6667, 6668, 6669, 6679, 6697, 10080,
}

// checkURL applies the rules that do not need an address.
func (p *Policy) checkURL(prov *provenance, s Scheme) error {
	u, from := prov.url, prov.from
	if (prov.untrusted || !from.IsZero()) && s.Driver != nil {
		if err := p.checkTarget(prov, s); err != nil {
			return err
		}
	}
	if err := p.checkPort(prov, s); err != nil {
		return err
	}
	if addr, err := netip.ParseAddr(u.Host()); err == nil {
		if err := p.checkPrivate(prov, addr); err != nil {
			return err
		}
	}
	if p.CheckURL != nil {
		if err := p.CheckURL(u, from); err != nil {
			return refusal(Reason{}, "%w", err)
		}
	}
	return nil
}

func (p *Policy) checkTarget(prov *provenance, s Scheme) error {
	from := prov.from
	switch {
	case s.Local && !p.AllowFile && prov.untrusted:
		return refusal(Reason{Kind: ReasonLocal, Scheme: s.Name},
			"an untrusted request may not name local resources")
	case s.Local && !p.AllowFile && !prov.fromLocal:
		return refusal(Reason{Kind: ReasonLocal, Scheme: s.Name},
			"the remote resource %s may not lead to local ones", from.Redacted())
	case !s.Retrieves() && prov.untrusted:
		return nil // the driver has a better error
	case s.State() == "session" && p.AllowSessions:
	case !s.Retrieves():
		return refusal(Reason{Kind: ReasonNotData, Scheme: s.Name},
			"%s leads to a %s URL, which is not followed", from.Redacted(), s.Name)
	}
	return nil
}

// checkRedirect applies the rule on redirects to a redirect from u, of scheme from, to target, of
// scheme to.
func (p *Policy) checkRedirect(u, target uri.URI, from, to Scheme) error {
	switch {
	case target.IsData():
	case to.RedirectTarget, slices.Contains(p.AllowRedirects, to.Name),
		from.Local, from.Refers, sameProtocol(from.Name, to.Name):
		return nil
	}
	return refusal(Reason{Kind: ReasonRedirect, Scheme: to.Name},
		"%s redirects to a %s URL, which is not followed",
		u.Redacted(), to.Name)
}

// sameProtocol reports whether two schemes are equal, or differ only in the use of TLS.
func sameProtocol(a, b string) bool { return a == b || a+"s" == b || a == b+"s" }

func (p *Policy) checkPort(prov *provenance, s Scheme) error {
	u, from := prov.url, prov.from
	port := u.Port(s.Port)
	if port == 0 || port == s.Port || slices.Contains(p.AllowPorts, port) {
		return nil
	}
	switch {
	case prov.untrusted && port < 1024:
		return refusal(Reason{Kind: ReasonPort, Port: port},
			"an untrusted request may not name reserved port %d", port)
	case !from.IsZero():
		sameSite := u.Scheme() == from.Scheme() && u.Host() == from.Host() && port == from.Port(s.Port)
		if port < 1024 && !sameSite {
			return refusal(Reason{Kind: ReasonPort, Port: port}, "%s led to reserved port %d",
				from.Redacted(), port)
		}
	}
	if slices.Contains(riskyPorts[:], port) {
		return refusal(Reason{Kind: ReasonPort, Port: port}, "port %d belongs to another service", port)
	}
	return nil
}

func refusal(why Reason, format string, args ...any) *Error {
	return &Error{Code: ErrPolicy, Reason: why, Err: fmt.Errorf(format, args...)}
}

func (p *Policy) checkAddr(prov *provenance, addr netip.AddrPort) error {
	if err := p.checkPrivate(prov, addr.Addr()); err != nil {
		return err
	}
	if p.CheckAddr != nil {
		if err := p.CheckAddr(prov.url, addr); err != nil {
			return refusal(Reason{}, "%w", err)
		}
	}
	return nil
}

func (p *Policy) checkPrivate(prov *provenance, addr netip.Addr) error {
	if prov.publicOnly && !p.AllowPrivate && isPrivate(addr) {
		if prov.untrusted {
			return refusal(Reason{Kind: ReasonPrivate, Host: prov.url.Host()},
				"an untrusted request may not name the private address %s", addr)
		}
		return refusal(Reason{Kind: ReasonPrivate, Host: prov.url.Host()}, "%s led to the private address %s",
			prov.from.Redacted(), addr)
	}
	return nil
}
