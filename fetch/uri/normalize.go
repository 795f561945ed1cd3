package uri

import (
	"strconv"
	"strings"
)

// Normalize returns the one spelling that stands for all spellings which
// certainly mean the same (RFC 3986, section 6.2): the scheme and the host in
// canonical form, no default port, escapes in upper case and only where they
// are needed, no "." and ".." segments except in schemes where those are
// ordinary names. An empty fragment is dropped (RFC 1630), "localhost" of a
// file URL is dropped (RFC 1738, section 3.10), and an empty path is filled in
// where the scheme says what it means. What is reserved stays as written.
func (u URI) Normalize() URI {
	c, scheme := u.split(), u.Scheme()
	c.scheme = strings.ToLower(c.scheme)
	if u.authority {
		c.authority = u.normalAuthority(scheme)
	}
	c.path = normalEscapes(c.path)
	if u.IsAbs() && strings.HasPrefix(c.path, "/") && !isOpaque(scheme) {
		c.path = removeDots(c.path)
	}
	c.query = normalEscapes(c.query)
	c.fragment = normalEscapes(c.fragment)
	if c.fragment == "#" {
		c.fragment = ""
	}
	switch scheme {
	case "http", "https", "ws", "wss", "ftp", "ftps", "telnet", "telnets", "rlogin", "tn3270":
		if u.authority && c.path == "" {
			c.path = "/"
		}
	case "gopher", "gophers":
		if u.authority && (c.path == "" || c.path == "/") && c.query == "" {
			c.path = "/1"
		}
	case "file":
		if c.authority == "//localhost" || c.authority == "" && strings.HasPrefix(c.path, "/") {
			c.authority = "//"
		}
	}
	return c.uri()
}

func (u URI) normalAuthority(scheme string) string {
	text := "//"
	if u.at > 0 {
		text += normalEscapes(u.userinfo()) + "@"
	}
	return text + hostPortText(u.host, u.port, defaultPort(scheme))
}

// hostPortText writes a canonical host, and the port unless it is 0 or def, in
// the form they have in a URI.
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

// defaultPort returns the port that a URL of the scheme means when it names
// none, or 0 if that is not known here.
func defaultPort(scheme string) uint16 {
	switch scheme {
	case "ftp":
		return 21
	case "ftps":
		return 990
	case "http", "ws":
		return 80
	case "https", "wss":
		return 443
	case "gopher", "gophers":
		return 70
	case "news", "nntp":
		return 119
	case "snews", "nntps":
		return 563
	case "telnet", "tn3270":
		return 23
	case "telnets":
		return 992
	case "rlogin":
		return 513
	case "wais":
		return 210
	case "prospero":
		return 1525
	}
	return 0
}

// normalEscapes decodes what needs no encoding and writes the other escapes in
// upper case (RFC 3986, sections 6.2.2.1 and 6.2.2.2).
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
