package uri

import (
	"errors"
	"strconv"
	"strings"
)

// Parts are the parts of a URL with a host, for writing URLs of schemes without an encoder in this
// package.
type Parts struct {
	Scheme string
	Login  Userinfo
	Host   string // as returned by [URI.Host]: an IPv6 address has no brackets
	Port   uint16 // 0 means the default of the scheme
	Path   string // encoded, with its leading slash
	Query  string // encoded, with its "?"; "" means none
}

// URI returns p as a URL. It fails if Host is not a host, if the login contains CR, LF or NUL, or
// if Path or Query is not encoded.
func (p Parts) URI() (URI, error) { return p.build(nil) }

// build returns p as a URL, or fails if cause is not nil.
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

// buildOpaque returns a URL without a host, or fails if cause is not nil. Path and query are
// encoded.
func buildOpaque(scheme, path, query string, cause error) (URI, error) {
	if strings.HasPrefix(path, "//") {
		path = "%2F" + path[1:] // a second slash would start an authority
	}
	return components{scheme: scheme + ":", path: path, query: query}.build(cause)
}

// hostPortText returns a canonical host as in a URI, and the port unless it is 0 or def.
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
