package gopher

import (
	"cmp"
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// The default ports of Gopher and of other services in menus.
const (
	defaultPort uint16 = 70
	fingerPort  uint16 = 79
	csoPort     uint16 = 105
)

// link returns the URL of an item of type typ, or an error if the item is malformed. An item
// without a host is on the menu's server.
func (m *menu) link(typ byte, item Item) (uri.URI, error) {
	if u := urlSelector(item.Selector); !u.IsZero() {
		return u, nil
	}
	host, port := item.Host, item.Port
	if host == "" {
		host, port = m.base.Host, m.base.Port
	}
	switch typ {
	case '2':
		return otherURL("cso", host, port, csoPort, "")
	case '8':
		return sessionURL("telnet", host, port, item.Selector)
	case 'T':
		return sessionURL("tn3270", host, port, item.Selector)
	}
	if typ == '0' && port == fingerPort {
		// Menus link to finger servers in this way, because a finger request is also one line. The
		// policy allows only the scheme finger for that port.
		return otherURL("finger", host, port, fingerPort, uri.Escape(item.Selector))
	}
	if path, ok := strings.CutPrefix(item.Selector, "GET /"); ok && typ == 'h' {
		// Old menus link to web servers with the request line of HTTP.
		return otherURL("http", host, cmp.Or(port, defaultPort), 80, escapePath(path))
	}
	g := uri.Gopher{Scheme: "gopher", Host: host, Port: port, Type: typ, Selector: item.Selector}
	if m.base.Scheme == "gophers" && strings.EqualFold(host, m.base.Host) &&
		cmp.Or(port, defaultPort) == m.base.Port {
		// A menu item cannot select TLS. This server supports it on the port of the menu.
		// Otherwise the second request would be in plaintext.
		g.Scheme = "gophers"
	}
	g.Plus = m.plusString(item)
	g.HasPlus = g.Plus != ""
	return m.write(g)
}

// write returns the URL of g. Most items of a menu are on one server and do not need encoding. For
// these, write reuses the prefix of the previous URL, which halves the time.
func (m *menu) write(g uri.Gopher) (uri.URI, error) {
	path := string(rune(g.Type)) + g.Selector
	if g.HasPlus || !isPlain(path) {
		return g.URI()
	}
	if at := (server{g.Scheme, g.Host, g.Port}); at != m.server {
		root, err := uri.Gopher{Scheme: g.Scheme, Host: g.Host, Port: g.Port}.URI()
		if err != nil {
			return uri.URI{}, err
		}
		m.server, m.prefix = at, strings.TrimSuffix(root.String(), "1")
	}
	return uri.Parse(m.prefix + path)
}

type server struct {
	scheme, host string
	port         uint16
}

// isPlain reports whether s needs no encoding in a gopher URL. It may be too strict.
func isPlain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '/', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return true
}

// plusString returns the Gopher+ string for the URL of an item (RFC 1738, section 3.4.4). A form
// cannot be retrieved without it. Items marked with a plus sign are requested with Gopher+, because
// only that marks their end: some servers append the final dot to the last line of a plain reply.
func (m *menu) plusString(item Item) string {
	if len(item.Extras) == 0 {
		return ""
	}
	switch mark := item.Extras[0]; {
	case mark == "?", mark == "+":
		return mark
	}
	return ""
}

// urlSelector returns the URL in a selector. Menus link to other protocols with "URL:" and a URL,
// possibly after a slash. It returns the zero URI for all other selectors.
func urlSelector(selector string) uri.URI {
	text, ok := strings.CutPrefix(strings.TrimPrefix(selector, "/"), "URL:")
	if !ok {
		return uri.URI{}
	}
	u, err := uri.ParseLoose(text)
	if err != nil || !u.IsAbs() {
		return uri.URI{}
	}
	return u
}

// escapePath encodes characters that are invalid in the path of a URL. Encoded ones are not
// changed.
func escapePath(path string) string {
	u, err := uri.ParseRef("http://h/" + path)
	if err != nil {
		return uri.Escape(path)
	}
	return strings.TrimPrefix(u.String(), "http://h/")
}

// sessionURL returns the URL of an interactive service. The selector is the login name (RFC 1436,
// section 3.8). Some servers send a path instead, which is ignored.
func sessionURL(scheme, host string, port uint16, login string) (uri.URI, error) {
	t := uri.Parts{Scheme: scheme, Host: host, Port: port, Path: "/"}
	if login != "" && !strings.ContainsAny(login, "/\r\n\x00") {
		t.Login = uri.Userinfo{Name: login, HasName: true}
	}
	return t.URI()
}

// otherURL returns a URL of a scheme without an encoder in fetch/uri. The path must be encoded.
func otherURL(scheme, host string, port, def uint16, path string) (uri.URI, error) {
	if host == "" {
		return uri.URI{}, errors.New("no host")
	}
	if port == def {
		port = 0
	}
	root, err := uri.Parts{Scheme: scheme, Host: host, Port: port, Path: "/"}.URI()
	if err != nil {
		return uri.URI{}, err
	}
	return uri.Parse(root.String() + path)
}
