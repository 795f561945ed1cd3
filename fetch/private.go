package fetch

import (
	"net/netip"
	"sync"
)

// reserved are the addresses of private networks, this machine, this link, and tunnels that may end
// anywhere: those that IANA's special-purpose address registries (RFC 6890) call not globally
// reachable, and obsolete forms of IPv6 addresses. Documentation addresses belong to nobody and are
// not included.
var reserved = sync.OnceValue(func() (list []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8",       // this network (RFC 791); Linux connects to itself
		"10.0.0.0/8",      // private use (RFC 1918)
		"100.64.0.0/10",   // carrier-grade NAT (RFC 6598)
		"127.0.0.0/8",     // loopback
		"169.254.0.0/16",  // link-local (RFC 3927), used for the metadata services of clouds
		"172.16.0.0/12",   // private use
		"192.0.0.0/24",    // protocol assignments (RFC 6890)
		"192.88.99.0/24",  // relays of 6to4, deprecated (RFC 7526)
		"192.168.0.0/16",  // private use
		"198.18.0.0/15",   // benchmarks (RFC 2544)
		"224.0.0.0/4",     // multicast
		"240.0.0.0/4",     // reserved, and the broadcast address (RFC 1112, RFC 919)
		"::/96",           // unspecified, loopback, and IPv4-compatible addresses (RFC 4291)
		"::ffff:0:0:0/96", // translated from IPv4 (RFC 2765)
		"100::/64",        // discarded (RFC 6666)
		"100:0:0:1::/64",  // dummy (RFC 9780)
		"2001::/32",       // Teredo, which embeds an IPv4 address (RFC 4380)
		"2001:2::/48",     // benchmarks (RFC 5180)
		"2001:10::/28",    // identifiers rather than addresses (RFC 4843)
		"2002::/16",       // 6to4, which embeds an IPv4 address (RFC 3056)
		"5f00::/16",       // segment routing within a network (RFC 9602)
		"fc00::/7",        // private use (RFC 4193)
		"fe80::/10",       // link-local
		"fec0::/10",       // site-local, deprecated (RFC 3879)
		"ff00::/8",        // multicast
	} {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
})

var (
	// nat64 addresses stand for the IPv4 address in their last 32 bits (RFC 6052).
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// localNAT64 is for prefixes of any length chosen by a network (RFC 8215). The IPv4 address can
	// be extracted without knowing the prefix only if that has 96 bits and ends in zeros.
	localNAT64      = netip.MustParsePrefix("64:ff9b:1::/48")
	localNAT64Plain = netip.MustParsePrefix("64:ff9b:1::/96")
)

// isPrivate reports whether addr is reserved for private networks, this machine or this link, or
// stands for an IPv4 address that is.
func isPrivate(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	switch {
	case nat64.Contains(addr), localNAT64Plain.Contains(addr):
		b := addr.As16()
		return isPrivate(netip.AddrFrom4([4]byte(b[12:])))
	case localNAT64.Contains(addr):
		return true
	}
	for _, p := range reserved() {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
