package uri

import (
	"slices"
	"strings"
)

// Userinfo is what a URL says about a login, decoded. The zero value means
// that it has no "@". In RFC 1738, section 3.1, an empty name or password is
// not the same as none, hence the flags.
type Userinfo struct {
	Name        string
	Password    string
	HasName     bool // there is an "@"
	HasPassword bool // there is a ":" before the "@"
}

// Userinfo returns user name and password in one value.
func (u URI) Userinfo() Userinfo {
	var login Userinfo
	login.Name, login.HasName = u.User()
	login.Password, login.HasPassword = u.Password()
	return login
}

// String returns the name, and "xxxxx" in place of a password.
func (l Userinfo) String() string {
	if l.HasPassword {
		return l.Name + ":" + mask
	}
	return l.Name
}

// text returns what stands before the host in a URL, with the "@".
func (l Userinfo) text() string {
	switch {
	case l.HasPassword || l.Password != "":
		return Escape(l.Name) + ":" + Escape(l.Password) + "@"
	case l.HasName || l.Name != "":
		return Escape(l.Name) + "@"
	}
	return ""
}

// A decoder decodes the parts of one URL and keeps the first failure, so that
// a scheme's code need not look after each step.
type decoder struct {
	u   URI
	err *Error
}

// decode starts to decode u, which must be of one of the schemes.
func decode(u URI, schemes ...string) *decoder {
	d := &decoder{u: u}
	if !slices.Contains(schemes, u.Scheme()) {
		d.fail("not a URL of scheme " + schemes[0])
	}
	return d
}

// finish returns v, or the failure of d.
func finish[T any](d *decoder, v T) (T, error) {
	if d.err != nil {
		var zero T
		return zero, d.err
	}
	return v, nil
}

func (d *decoder) fail(reason string) {
	if d.err == nil {
		d.err = d.u.malformed(reason)
	}
}

// server checks that the URL names a server, by "//" and a host, and nothing
// that would have to stand behind the slash before it.
func (d *decoder) server() {
	if d.u.host == "" {
		d.fail("no host")
	}
	d.slash()
}

// slash refuses "//host?x": in the schemes of RFC 1738 a "?" belongs to the
// url-path, which a slash announces.
func (d *decoder) slash() {
	if d.u.Path() == "" && d.u.query > 0 {
		d.fail("no / between host and ?")
	}
}

// noLogin refuses a user name, in schemes whose syntax has none.
func (d *decoder) noLogin() {
	if d.u.at > 0 {
		d.fail("user name in a URL that cannot have one")
	}
}

// noAuthority refuses "//", in schemes that name no server.
func (d *decoder) noAuthority() {
	if d.u.authority {
		d.fail("// in a URL that names no server")
	}
}

// port returns the port, or the scheme's own.
func (d *decoder) port() uint16 { return d.u.Port(defaultPort(d.u.Scheme())) }

// text decodes a part and refuses CR, LF and NUL in it.
func (d *decoder) text(part string) string {
	s := UnescapeRaw(part)
	d.check(s)
	return s
}

// check refuses CR, LF and NUL in a decoded part.
func (d *decoder) check(s string) {
	if d.err == nil && hasControl(s) {
		d.fail(ErrControl.Error())
		d.err.Err = ErrControl
	}
}

// plain decodes a part that has no control characters at all, such as a mail
// address.
func (d *decoder) plain(part string) string {
	s := d.text(part)
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			d.fail("control character in mail")
		}
	}
	return s
}

// token decodes a part that must be one word, such as a newsgroup name.
func (d *decoder) token(part string) string {
	s := d.text(part)
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			d.fail("space or control character in a name")
		}
	}
	return s
}

// cutFold is strings.Cut with sep, which is in lower case, matched in any
// case.
func cutFold(s, sep string) (before, after string, found bool) {
	if i := strings.Index(strings.ToLower(s), sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// build writes a URL with a host. The path is encoded and has its slash. The
// result is the zero URI if a part cannot be written, such as a host with a
// space.
func build(scheme string, login Userinfo, host string, port uint16, path string) URI {
	authority := "//" + login.text() + hostPortText(host, port, defaultPort(scheme))
	return components{scheme: scheme + ":", authority: authority, path: path}.uri()
}

// buildOpaque writes a URL without a host. The rest is encoded.
func buildOpaque(scheme, rest string) URI {
	if strings.HasPrefix(rest, "//") {
		rest = "%2F" + rest[1:] // it would announce a host
	}
	return components{scheme: scheme + ":", path: rest}.uri()
}
