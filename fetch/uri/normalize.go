package uri

import "strings"

// Normalize returns the canonical spelling of u (RFC 3986, section 6.2): the scheme and the host in
// canonical form, no default port, escapes in upper case and only where required, and no "." and
// ".." segments, except in schemes where those are ordinary names. Normalize drops an empty
// fragment (RFC 1630) and the "localhost" of a file URL (RFC 1738, section 3.10). It fills in an
// empty path if the scheme defines its meaning. Reserved characters are not changed. If the result
// would be longer than [MaxLen], Normalize returns u.
//
// The default port is known only for the schemes of the table (see the package comment). For other
// schemes, remove it first with [URI.WithoutPort].
func (u URI) Normalize() URI {
	name := u.Scheme()
	written, rule := u.split(), lookup(name)
	c := written
	c.scheme = strings.ToLower(c.scheme)
	if u.authority && !u.hasCanonicalAuthority(rule.port) {
		c.authority = "//" + hostPortText(u.host, u.port, rule.port)
		if u.at > 0 {
			c.authority = "//" + normalEscapes(u.userinfo()) + "@" + c.authority[2:]
		}
	}
	c.path = normalEscapes(c.path)
	if u.IsAbs() && strings.HasPrefix(c.path, "/") && rule.path == segments {
		c.path = removeDots(c.path)
	}
	c.query = normalEscapes(c.query)
	c.fragment = normalEscapes(c.fragment)
	if c.fragment == "#" {
		c.fragment = ""
	}
	if isEmpty := c.path == "" || c.path == "/"; isEmpty && u.authority && rule.empty != "" &&
		!(rule.plainQuery && c.query != "") {
		c.path = rule.empty
	}
	isLocal := c.authority == "//localhost" || c.authority == "" && strings.HasPrefix(c.path, "/")
	if name == "file" && isLocal {
		c.authority = "//"
	}
	if c == written {
		return u
	}
	n := c.uri()
	if n.IsZero() && c != (components{}) {
		return u // the result would be longer than MaxLen
	}
	return n
}

// hasCanonicalAuthority reports whether the authority, for a default port, is certainly written in
// canonical form.
func (u URI) hasCanonicalAuthority(port uint16) bool {
	digits := u.text[u.hostEnd:u.path] // with the colon
	if u.at > 0 || u.text[u.authStart():u.hostEnd] != u.host {
		return false
	}
	if u.port == 0 || u.port == port {
		return digits == ""
	}
	return digits[1] != '0'
}

// normalEscapes decodes escapes that are not required and writes the others in upper case (RFC
// 3986, sections 6.2.2.1 and 6.2.2.2).
func normalEscapes(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if c := decoded(s, i); class[c]&isUnreserved != 0 {
			b.WriteByte(c)
		} else {
			writeEscaped(&b, c)
		}
		i += 2
	}
	return b.String()
}
