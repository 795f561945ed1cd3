package uri

import "strings"

// Normalize returns the canonical one of the spellings that certainly mean the same as u (RFC 3986,
// section 6.2): the scheme and the host in canonical form, no default port, escapes in
// upper case and only where they are needed, no "." and ".." segments except in schemes where those
// are ordinary names. An empty fragment is dropped (RFC 1630), "localhost" of a file URL is dropped
// (RFC 1738, section 3.10), and an empty path is filled in where the scheme says what it means.
// Reserved characters stay as written. A URL whose canonical spelling would be longer than [MaxLen]
// is returned as it is.
//
// The default port is known only for the schemes of the table (see the package comment); for the
// others, remove it first by [URI.WithoutPort].
func (u URI) Normalize() URI {
	name := u.Scheme()
	c, rule := u.split(), lookup(name)
	c.scheme = strings.ToLower(c.scheme)
	if u.authority {
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
	if name == "file" && (c.authority == "//localhost" || c.authority == "" && strings.HasPrefix(c.path, "/")) {
		c.authority = "//"
	}
	n := c.uri()
	if n.IsZero() && c != (components{}) {
		return u // it would be longer than MaxLen
	}
	return n
}

// normalEscapes decodes what needs no encoding and writes the other escapes in upper case (RFC
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
