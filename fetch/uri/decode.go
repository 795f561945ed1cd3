package uri

import (
	"slices"
	"strings"
)

// A decoder decodes the parts of one URL and keeps the first error, so that the decoders of schemes
// need not check after each step.
type decoder struct {
	u   URI
	err *Error
}

// decode starts to decode u, whose scheme must be one of schemes.
func decode(u URI, schemes ...string) *decoder {
	d := &decoder{u: u}
	if !slices.Contains(schemes, u.Scheme()) {
		d.fail("not a URL of scheme " + schemes[0])
	}
	return d
}

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

// server checks that the URL has "//" and a host, and that "?" does not follow the host directly.
func (d *decoder) server() {
	if d.u.host == "" {
		d.fail("no host")
	}
	d.slash()
}

// slash refuses "//host?x": in the schemes of RFC 1738, "?" belongs to the url-path, which starts
// with a slash.
func (d *decoder) slash() {
	if d.u.Path() == "" && d.u.query > 0 {
		d.fail("no / between host and ?")
	}
}

func (d *decoder) noLogin() {
	if d.u.at > 0 {
		d.fail("user name in a URL that cannot have one")
	}
}

func (d *decoder) noAuthority() {
	if d.u.authority {
		d.fail("// in a URL that names no server")
	}
}

func (d *decoder) port() uint16 { return d.u.Port(lookup(d.u.Scheme()).port) }

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

// cutFold is strings.Cut with a case-insensitive sep, which must be in lower case.
func cutFold(s, sep string) (before, after string, found bool) {
	if i := strings.Index(strings.ToLower(s), sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
