package uri

import (
	"log/slog"
	"net"
	"strconv"
	"strings"
)

// MaxLen is the length in bytes of the longest URI that is accepted. It leaves room for the longest
// data URLs in use. A method such as [URI.Resolve], which makes a URI of others, returns the zero
// URI if the result would be longer.
const MaxLen = 32 << 20

// mask replaces a password in [URI.Redacted].
const mask = "xxxxx"

// A URI is a parsed URI reference. It is a comparable value, like netip.Addr: copy it, compare it
// with ==, use it as a map key. Two URIs are equal if they are written the same way; compare the
// results of [URI.Normalize] to see whether they mean the same. The zero URI is the empty
// reference.
//
// Components are kept as written, and none holds a raw space or control character.
type URI struct {
	text string
	host string // canonical; it depends on text only

	// Offsets into text. Zero means that the component is absent, except for path, which is always
	// there.
	scheme  uint32 // of the colon
	at      uint32 // of the "@" that ends the user information
	hostEnd uint32
	path    uint32
	query   uint32 // of the byte after "?"
	frag    uint32 // of the byte after "#"

	port      uint16 // 0 if not written
	authority bool   // "//" is there
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

// Host returns the host in its canonical form: decoded, in lower case, an international name in its
// ASCII form, an address in its usual notation and without brackets. The zone of an IPv6 address
// follows after "%", which is the form that package net takes. Host returns "" if there is none.
func (u URI) Host() string { return u.host }

// Port returns the port, or def if none is written.
func (u URI) Port(def uint16) uint16 {
	if u.port == 0 {
		return def
	}
	return u.port
}

// HostPort returns host and port, or def if no port is written, in the form that net.Dial takes.
func (u URI) HostPort(def uint16) string {
	return net.JoinHostPort(u.host, strconv.Itoa(int(u.Port(def))))
}

// userinfo returns what comes before the "@", as written.
func (u URI) userinfo() string {
	if u.at == 0 {
		return ""
	}
	return u.text[u.authStart():u.at]
}

// User returns the decoded user name, and false if there is no "@". In RFC 1738, section 3.1, an
// empty name is not the same as none.
func (u URI) User() (string, bool) {
	name, _, _ := strings.Cut(u.userinfo(), ":")
	return UnescapeRaw(name), u.at > 0
}

// Password returns the decoded password, and false if there is none. It is "" and true for
// "user:@".
func (u URI) Password() (string, bool) {
	_, password, ok := strings.Cut(u.userinfo(), ":")
	return UnescapeRaw(password), ok
}

// Path returns the path as written, with its leading slash.
func (u URI) Path() string { return u.text[u.path:u.pathEnd()] }

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

// URLPath returns what RFC 1738, section 3.1, calls the url-path: all that follows the slash after
// the host, up to "#". A "?" in it does not start a query. Without a host it is all that follows
// the scheme.
func (u URI) URLPath() string {
	p := u.text[u.path:u.end()]
	if u.authority {
		p = strings.TrimPrefix(p, "/")
	}
	return p
}

// LastSegment returns the last segment of the path. It is decoded unless that yields a control
// character or a slash. It is meant for suggesting a name and is not a safe file name: it may be
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

// String returns the text that was parsed, with its password. For logs and messages use
// [URI.Redacted].
func (u URI) String() string { return u.text }

// Redacted returns the text with "xxxxx" in place of a password.
func (u URI) Redacted() string {
	colon := strings.IndexByte(u.userinfo(), ':')
	if colon < 0 || colon+1 == len(u.userinfo()) {
		return u.text
	}
	return u.text[:u.authStart()+uint32(colon)+1] + mask + u.text[u.at:]
}

// LogValue implements [slog.LogValuer]: a log gets the redacted text.
func (u URI) LogValue() slog.Value { return slog.StringValue(u.Redacted()) }

// MarshalText implements [encoding.TextMarshaler]. The text has the password.
func (u URI) MarshalText() ([]byte, error) { return []byte(u.text), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] by [Parse].
func (u *URI) UnmarshalText(text []byte) error {
	v, err := Parse(string(text))
	if err != nil {
		return err
	}
	*u = v
	return nil
}

// authStart returns the offset of the authority. It must only be called if there is one.
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

// end returns the offset at which the fragment, with its "#", starts.
func (u URI) end() uint32 {
	if u.frag > 0 {
		return u.frag - 1
	}
	return uint32(len(u.text))
}
