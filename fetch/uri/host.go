package uri

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// nameProfile maps international names as browsers do (UTS #46, without the transitional mappings).
// It allows "_", leading hyphens and "--", because names in use contain them.
var nameProfile = sync.OnceValue(func() *idna.Profile {
	return idna.New(
		idna.MapForLookup(),
		idna.Transitional(false),
		idna.BidiRule(),
		idna.CheckHyphens(false),
		idna.StrictDomainName(false),
	)
})

// canonicalHost returns the canonical form of a host as written in a URI. If raw is not a host,
// reason is not empty.
func canonicalHost(raw string) (host, reason string) {
	if strings.HasPrefix(raw, "[") {
		return canonicalIPv6(raw[1 : len(raw)-1])
	}
	lower, decode := true, false
	for i := range len(raw) {
		c := raw[i]
		switch {
		case 'A' <= c && c <= 'Z':
			lower = false
		case class[c]&inName != 0:
		case c == '%' && isEscape(raw, i), c >= utf8.RuneSelf:
			decode = true
		case c == '%':
			return "", reasonPercent
		default:
			return "", describe(c) + " in the host"
		}
	}
	host = raw
	if decode {
		if host, reason = decodeName(raw); reason != "" {
			return "", reason
		}
	} else if !lower {
		host = strings.ToLower(raw)
	}
	if endsInNumber(host) {
		return canonicalIPv4(host)
	}
	return host, ""
}

// decodeName decodes a name that is percent-encoded or not ASCII, and maps it to lower-case ASCII.
func decodeName(raw string) (name, reason string) {
	name = UnescapeRaw(raw)
	if !utf8.ValidString(name) {
		return "", "host is not in UTF-8"
	}
	ascii := true
	for i := range len(name) {
		ascii = ascii && name[i] < utf8.RuneSelf
	}
	if ascii {
		name = strings.ToLower(name)
	} else {
		mapped, err := nameProfile().ToASCII(name)
		if err != nil {
			return "", "host is not an international domain name"
		}
		name = mapped
	}
	if name == "" {
		return "", "host has no visible character"
	}
	// Decoding and mapping can both produce delimiters.
	for i := range len(name) {
		if class[name[i]]&inName == 0 {
			return "", describe(name[i]) + " in the decoded host"
		}
	}
	return name, ""
}

// canonicalIPv6 checks an address literal without its brackets. A zone may follow after "%25" (RFC
// 6874). RFC 3986's forms for future IP versions have no meaning yet and are errors.
func canonicalIPv6(raw string) (host, reason string) {
	literal, zone, hasZone := strings.Cut(raw, "%25")
	addr, err := netip.ParseAddr(literal)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return "", "malformed IPv6 address"
	}
	if hasZone {
		for i := range len(zone) {
			if c := zone[i]; class[c]&isUnreserved == 0 && !(c == '%' && isEscape(zone, i)) {
				return "", describe(c) + " in the IPv6 zone"
			}
		}
		zone = UnescapeRaw(zone)
		for i := range len(zone) {
			if zone[i] <= ' ' || zone[i] == 0x7f {
				return "", describe(zone[i]) + " in the decoded IPv6 zone"
			}
		}
		if zone == "" {
			return "", "empty IPv6 zone"
		}
		addr = addr.WithZone(zone)
	}
	return addr.String(), ""
}

// endsInNumber reports whether the last label of name, ignoring an empty one, is a number in the
// sense of inet_aton. Name is in lower case. Domain names do not end that way (RFC 1738, section 3.1),
// and some resolvers would take such a name for an address.
func endsInNumber(name string) bool {
	label := strings.TrimRight(name, ".")
	label = label[strings.LastIndexByte(label, '.')+1:]
	if label == "" || label[0] < '0' || label[0] > '9' {
		return false
	}
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return isDigits(label)
}

// canonicalIPv4 parses an address as inet_aton does: one to four numbers, decimal, octal after "0"
// or hexadecimal after "0x". The last number fills the remaining bytes. Name is in lower case.
func canonicalIPv4(name string) (host, reason string) {
	const bad = "malformed IPv4 address"
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is4() {
		return name, ""
	}
	parts := strings.Split(strings.TrimSuffix(name, "."), ".")
	if len(parts) > 4 {
		return "", bad
	}
	var value uint64
	for i, part := range parts {
		limit := uint64(1) << 8
		if i == len(parts)-1 {
			limit = 1 << (8 * (5 - len(parts)))
		}
		n, ok := parseNumber(part)
		if !ok || n >= limit {
			return "", bad
		}
		if i == len(parts)-1 {
			value = value<<(8*(4-i)) | n
		} else {
			value = value<<8 | n
		}
	}
	var addr [4]byte
	binary.BigEndian.PutUint32(addr[:], uint32(value))
	return netip.AddrFrom4(addr).String(), ""
}

// parseNumber parses one part of an IPv4 address. It returns false if the part is not a number or
// does not fit in 32 bits.
func parseNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		base, s = 16, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, s = 8, s[1:]
	}
	n, err := strconv.ParseUint(s, base, 32)
	return n, err == nil
}
