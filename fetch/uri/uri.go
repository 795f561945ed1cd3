package uri

import (
	"log/slog"
	"net"
	"strconv"
	"strings"
)

// MaxLen is the maximum length of a URI in bytes. It suffices for the longest data URLs in use. If
// the result of a method such as [URI.Resolve] would be longer, the method returns the zero URI.
const MaxLen = 32 << 20

// mask replaces a password in [URI.Redacted].
const mask = "xxxxx"

// A URI is a parsed URI reference. It is a comparable value, like netip.Addr: it can be copied,
// compared with == and used as a map key. Two URIs are equal if they are written the same way; to
// test whether they are equivalent, compare the results of [URI.Normalize]. The zero URI is the
// empty reference.
//
// Components are kept as written. None contains a raw space or control character.
type URI struct {
	text string
	host string // canonical; depends only on text

	// Offsets into text. Zero means that the component is absent, except for path, which is always
	// present.
	scheme  uint32 // of the colon
	at      uint32 // of the "@" that ends the user information
	hostEnd uint32
	path    uint32
	query   uint32 // of the byte after "?"
	frag    uint32 // of the byte after "#"

	port      uint16 // 0 if not written
	authority bool   // "//" is present
}

// IsZero reports whether u is the zero URI, the empty reference.
func (u URI) IsZero() bool { return u.text == "" }

// IsAbs reports whether u has a scheme.
func (u URI) IsAbs() bool { return u.scheme > 0 }

// HasAuthority reports whether u has the "//" that introduces a host. The host may be empty, as in
// "file:///x".
func (u URI) HasAuthority() bool { return u.authority }

// Scheme returns the scheme in lower case, or "" for a relative reference.
func (u URI) Scheme() string { return strings.ToLower(u.text[:u.scheme]) }

// Host returns the host in canonical form: decoded, in lower case, an international name in its
// ASCII form, an address in its usual notation and without brackets. The zone of an IPv6 address
// follows "%", as in package net. Schemes whose hosts are identifiers keep the case. If u has no host,
// Host returns "".
func (u URI) Host() string { return u.host }

// Port returns the port, or def if u has none.
func (u URI) Port(def uint16) uint16 {
	if u.port == 0 {
		return def
	}
	return u.port
}

// HostPort returns the host and the port, or def if u has none, in the form for net.Dial.
func (u URI) HostPort(def uint16) string {
	return net.JoinHostPort(u.host, strconv.Itoa(int(u.Port(def))))
}

func (u URI) userinfo() string {
	if u.at == 0 {
		return ""
	}
	return u.text[u.authStart():u.at]
}

// User returns the decoded user name, and false if there is no "@". An empty name and a missing one
// are different (RFC 1738, section 3.1).
func (u URI) User() (string, bool) {
	name, _, _ := strings.Cut(u.userinfo(), ":")
	return UnescapeRaw(name), u.at > 0
}

// Password returns the decoded password, and false if there is none. For "user:@" it returns "" and
// true.
func (u URI) Password() (string, bool) {
	_, password, ok := strings.Cut(u.userinfo(), ":")
	return UnescapeRaw(password), ok
}

// Path returns the path as written, with its leading slash.
func (u URI) Path() string { return u.text[u.path:u.pathEnd()] }

// IsDirectory reports whether the path is empty or ends with a slash. Whether it then names a directory is
// a matter of the scheme.
func (u URI) IsDirectory() bool { return u.Path() == "" || strings.HasSuffix(u.Path(), "/") }

// Query returns the text after "?" as written, and false if there is no "?".
func (u URI) Query() (string, bool) {
	if u.query == 0 {
		return "", false
	}
	return u.text[u.query:u.end()], true
}

// Fragment returns the text after "#" as written, and false if there is no "#".
func (u URI) Fragment() (string, bool) {
	if u.frag == 0 {
		return "", false
	}
	return u.text[u.frag:], true
}

// URLPath returns the url-path of RFC 1738, section 3.1: the text after the slash that follows the
// host, up to "#". A "?" in it does not start a query. If u has no host, URLPath returns the text
// after the scheme.
func (u URI) URLPath() string {
	p := u.text[u.path:u.end()]
	if u.authority {
		p = strings.TrimPrefix(p, "/")
	}
	return p
}

// LastSegment returns the last segment of the path. It is decoded unless that yields a control
// character or a slash. It can be used to suggest a name, but is not a safe file name: it may be
// "", "." or "..".
func (u URI) LastSegment() string {
	p := u.Path()
	p = p[strings.LastIndexByte(p, '/')+1:]
	decoded := UnescapeRaw(p)
	for i := range len(decoded) {
		if c := decoded[i]; c < ' ' || c == 0x7f || c == '/' {
			return p
		}
	}
	return decoded
}

// String returns the text that was parsed, including the password. For logs and messages use
// [URI.Redacted].
func (u URI) String() string { return u.text }

// Redacted returns the text with any password replaced by "xxxxx", also in http:joe:password@h, which lacks
// slashes.
func (u URI) Redacted() string {
	start, login := uint32(0), u.userinfo()
	switch {
	case login != "":
		start = u.authStart()
	case u.scheme > 0 && !u.HasAuthority() && lookup(u.Scheme()).path != opaque:
		start = u.scheme + 1
		first, _, _ := strings.Cut(u.text[start:], "/")
		login = first[:max(strings.LastIndexByte(first, '@'), 0)]
	}
	colon := strings.IndexByte(login, ':')
	if colon < 0 || colon+1 == len(login) {
		return u.text
	}
	return u.text[:start+uint32(colon)+1] + mask + u.text[start+uint32(len(login)):]
}

// LogValue implements [slog.LogValuer]. It returns the redacted text.
func (u URI) LogValue() slog.Value { return slog.StringValue(u.Redacted()) }

// MarshalText implements [encoding.TextMarshaler]. The text includes the password.
func (u URI) MarshalText() ([]byte, error) { return []byte(u.text), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It calls [Parse].
func (u *URI) UnmarshalText(text []byte) error {
	v, err := Parse(string(text))
	if err != nil {
		return err
	}
	*u = v
	return nil
}

// authStart returns the offset of the authority, which must be present.
func (u URI) authStart() uint32 {
	if u.scheme > 0 {
		return u.scheme + 3
	}
	return 2
}

func (u URI) pathEnd() uint32 {
	if u.query > 0 {
		return u.query - 1
	}
	return u.end()
}

// end returns the offset of the fragment, with its "#".
func (u URI) end() uint32 {
	if u.frag > 0 {
		return u.frag - 1
	}
	return uint32(len(u.text))
}
