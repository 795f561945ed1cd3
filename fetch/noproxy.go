package fetch

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// isExempt reports whether list, the value of no_proxy, includes host or host:port. As in curl,
// commas or blanks separate entries. A name, with or without a leading dot, includes its
// subdomains. An address, optionally in brackets, may have a prefix length. An asterisk matches
// every host. Port 0 means none.
func isExempt(list, host string, port uint16) bool {
	host = strings.TrimSuffix(host, ".")
	addr, err := netip.ParseAddr(host)
	isAddr := err == nil
	for _, entry := range strings.FieldsFunc(list,
		func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if entry == "*" {
			return true
		}
		if isAddr && hasAddr(entry, addr) {
			return true
		}
		name, ok := entryName(entry, port)
		if ok && (host == name || !isAddr && strings.HasSuffix(host, "."+name)) {
			return true
		}
	}
	return false
}

func hasAddr(entry string, addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	text, bits, isNetwork := strings.Cut(entry, "/")
	first, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return false
	}
	first = first.Unmap().WithZone("")
	if !isNetwork {
		return first == addr
	}
	n, err := strconv.Atoi(bits)
	if err != nil {
		return false
	}
	network, err := first.Prefix(n)
	return err == nil && network.Contains(addr)
}

// entryName returns the canonical host of an entry. It returns false if the entry has a different
// port.
func entryName(entry string, port uint16) (string, bool) {
	entry = strings.TrimPrefix(strings.TrimPrefix(entry, "*"), ".")
	u, err := uri.ParseLoose("//" + entry)
	if err != nil || u.Host() == "" {
		return "", false
	}
	only := u.Port(0)
	return strings.TrimSuffix(u.Host(), "."), only == 0 || only == port
}
