// Package smallnet has the common parts of Gemini, Spartan and Nex: hosts and paths in requests,
// responses that begin with a status, and the links in pages of gemtext.
package smallnet

import (
	"fmt"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Host returns the host of u for a request: in brackets if it is an IPv6 address, and without a
// zone, which is only valid on this machine.
func Host(u uri.URI) (string, error) {
	host := u.Host()
	if _, named := u.User(); named {
		return "", fetch.ErrURL.Errorf("a %s URL cannot have a user name", u.Scheme())
	}
	if host == "" {
		return "", fetch.ErrURL.Errorf("no host")
	}
	if strings.Contains(host, ":") {
		address, _, _ := strings.Cut(host, "%")
		host = "[" + address + "]"
	}
	return host, nil
}

// Path returns the path of u for a request: "/" if it is empty.
func Path(u uri.URI) string {
	if path := u.Path(); path != "" {
		return ASCII(path)
	}
	return "/"
}

// ASCII percent-encodes the bytes of a part of a URL that are invalid in a request: those that are
// not ASCII, blanks and control characters.
func ASCII(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
