package uri

import (
	"errors"
	"strconv"
	"strings"
)

// Parts are the parts of a URL with a host, for writing URLs of a scheme that has no encoder here.
type Parts struct {
	Scheme string
	Login  Userinfo
	Host   string // as [URI.Host] returns it: an IPv6 address has no brackets
	Port   uint16 // 0 means the scheme's own
	Path   string // encoded, with its leading slash
	Query  string // encoded, with its "?"; "" means none
}

// URI writes p as a URL. It fails if a part cannot stand in a URL: a host that is not one, CR, LF
// or NUL in the login, or a path that is not encoded.
func (p Parts) URI() (URI, error) { return p.build(nil) }

// build writes p, or fails if cause is not nil.
func (p Parts) build(cause error) (URI, error) {
	rule := lookup(strings.ToLower(p.Scheme))
	if p.Host == "" && rule.host && cause == nil {
		cause = errors.New("no host")
	}
	return components{
		scheme:    p.Scheme + ":",
		authority: "//" + p.Login.text() + hostPortText(p.Host, p.Port, rule.port),
		path:      p.Path,
		query:     p.Query,
	}.build(cause)
}

// buildOpaque writes a URL without a host, or fails if cause is not nil. Path and query are
// encoded.
func buildOpaque(scheme, path, query string, cause error) (URI, error) {
	if strings.HasPrefix(path, "//") {
		path = "%2F" + path[1:] // it would announce a host
	}
	return components{scheme: scheme + ":", path: path, query: query}.build(cause)
}

// hostPortText writes a canonical host, and the port unless it is 0 or def, as in a URI.
func hostPortText(host string, port, def uint16) string {
	if addr, zone, ok := strings.Cut(host, "%"); ok && strings.Contains(addr, ":") {
		host = "[" + addr + "%25" + escape(zone, isUnreserved) + "]"
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	} else {
		host = escape(host, inName)
	}
	if port != 0 && port != def {
		host += ":" + strconv.Itoa(int(port))
	}
	return host
}
