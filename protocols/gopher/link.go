package gopher

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// The port of Gopher, and those of other services that menus lead to.
const (
	defaultPort uint16 = 70
	fingerPort  uint16 = 79
	csoPort     uint16 = 105
)

// link returns the URL of an item of type typ, or the zero URI if it names no
// place. An item without a host is taken to be at the menu's server.
func (m *menu) link(typ byte, item Item) uri.URI {
	if u := urlSelector(item.Selector); !u.IsZero() {
		return u
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
		// Finger takes one line and answers with text, so menus have always
		// named users in this way. The policy does not let another scheme
		// than its own lead to that port.
		return otherURL("finger", host, port, fingerPort, uri.Escape(item.Selector))
	}
	g := uri.Gopher{Scheme: "gopher", Host: host, Port: port, Type: typ, Selector: item.Selector}
	if m.base.Scheme == "gophers" && strings.EqualFold(host, m.base.Host) && cmp.Or(port, defaultPort) == m.base.Port {
		// A menu cannot say that a server speaks TLS. This one does, on the
		// port that the menu came from; without this rule the second click
		// would be in clear.
		g.Scheme = "gophers"
	}
	g.Plus = m.plusString(item)
	g.HasPlus = g.Plus != ""
	return m.write(g)
}

// write returns the URL of g. Most items of a menu are on one server and have
// nothing to encode: then the beginning of the URL before serves again, which
// takes half the time.
func (m *menu) write(g uri.Gopher) uri.URI {
	path := string(rune(g.Type)) + g.Selector
	if g.HasPlus || !isPlain(path) {
		return g.URI()
	}
	if at := (server{g.Scheme, g.Host, g.Port}); at != m.server {
		root := uri.Gopher{Scheme: g.Scheme, Host: g.Host, Port: g.Port}.URI().String()
		m.server, m.prefix = at, strings.TrimSuffix(root, "1")
	}
	u, err := uri.Parse(m.prefix + path)
	if err != nil || m.prefix == "" {
		return uri.URI{} // Host is not a host
	}
	return u
}

// A server is what the URLs of its items begin with.
type server struct {
	scheme, host string
	port         uint16
}

// isPlain reports whether s can stand in a gopher URL as it is. It need not
// know of all that can.
func isPlain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '/', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return true
}

// plusString returns the Gopher+ string for the URL of an item (RFC 1738,
// section 3.4.4). A form cannot be had without it; otherwise items are asked
// for in the Gopher+ way if the menu was.
func (m *menu) plusString(item Item) string {
	if len(item.Extras) == 0 {
		return ""
	}
	switch mark := item.Extras[0]; {
	case mark == "?", mark == "+" && m.base.Plus != "":
		return mark
	}
	return ""
}

// urlSelector returns the URL that a selector holds: "URL:" and a URL, perhaps
// with a slash in front, is how menus lead to other protocols. It returns the
// zero URI for all other selectors.
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

// sessionURL returns the URL of an interactive service. The selector is the
// name to log in with (RFC 1436, section 3.8); some servers make a path of it or
// of nothing, which is no name.
func sessionURL(scheme, host string, port uint16, login string) uri.URI {
	t := uri.Telnet{Scheme: scheme, Host: host, Port: port}
	if login != "" && !strings.ContainsAny(login, "/\r\n\x00") {
		t.Login = uri.Userinfo{Name: login, HasName: true}
	}
	return t.URI()
}

// otherURL returns the URL of a path, as it is written, on a server of a
// scheme that fetch/uri has no decoder for.
func otherURL(scheme, host string, port, def uint16, path string) uri.URI {
	host = uri.Gopher{Host: host}.URI().Host() // "" if it is not a host
	if host == "" {
		return uri.URI{}
	}
	if port != 0 && port != def {
		host = net.JoinHostPort(host, strconv.Itoa(int(port)))
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u, err := uri.Parse(scheme + "://" + host + "/" + path)
	if err != nil {
		return uri.URI{}
	}
	return u
}
