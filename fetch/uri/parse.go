package uri

import (
	"strconv"
	"strings"
)

const (
	reasonPercent = "% without two hexadecimal digits"
	reasonScheme  = "missing or malformed scheme before the colon"
)

// Parse parses an absolute or relative reference by the rules of RFC 3986, section 4.1. It does not
// depend on the scheme: "?" starts a query in all of them. For schemes without queries, use
// [URI.URLPath].
//
// Parse does not accept spaces, control characters and other characters that must be encoded,
// except "|", "[" and "]" in path, query and fragment; a "%" without two hexadecimal digits; a port
// outside 1 to 65535; an encoded CR, LF or NUL in user information; and a host that is neither a
// name nor an address. A host name may be in UTF-8. Errors are of type [*Error].
func Parse(s string) (URI, error) {
	u, err := parse(s)
	if err != nil {
		err.Input = redactText(s)
		return URI{}, err
	}
	return u, nil
}

// MustParse is like [Parse] but panics if s cannot be parsed. It is for constants.
func MustParse(s string) URI {
	return Must(Parse(s))
}

// Must returns u, and panics if err is not nil. It wraps a call of a function that returns both,
// such as [FTP.URI], and that cannot fail.
func Must(u URI, err error) URI {
	if err != nil {
		panic(err)
	}
	return u
}

func malformed(offset int, reason string) *Error {
	return &Error{Reason: reason, Offset: offset}
}

// parse implements Parse. The caller sets the Input of an error.
func parse(s string) (URI, *Error) {
	if len(s) > MaxLen {
		return URI{}, malformed(-1, "longer than "+strconv.Itoa(MaxLen)+" bytes")
	}
	u := URI{text: s}
	i, ok := schemeEnd(s)
	if !ok {
		return URI{}, malformed(i, reasonScheme)
	}
	if i > 0 {
		u.scheme = uint32(i)
		i++ // the colon
	}
	if strings.HasPrefix(s[i:], "//") {
		end := authorityEnd(s, i+2)
		if err := u.parseAuthority(i+2, end); err != nil {
			return URI{}, err
		}
		i = end
	}
	u.path = uint32(i)
	for ; i < len(s); i++ {
		c := s[i]
		if class[c]&inText != 0 && c != '?' {
			continue
		}
		switch {
		case c == '?':
			if u.query == 0 && u.frag == 0 {
				u.query = uint32(i + 1)
			}
		case c == '#' && u.frag == 0:
			u.frag = uint32(i + 1)
		case c == '%' && isEscape(s, i):
			i += 2
		case c == '%':
			return URI{}, malformed(i, reasonPercent)
		default:
			return URI{}, malformed(i, describe(c)+" must be encoded")
		}
	}
	return u, nil
}

// schemeEnd returns the offset of the colon that ends the scheme, or 0 if s is relative. It returns
// false, and the offset of the first colon, if the text before that colon is not a scheme: a
// relative reference cannot have a colon there (RFC 3986, section 4.2).
func schemeEnd(s string) (int, bool) {
	valid := true
	for i := range len(s) {
		switch c := s[i]; {
		case class[c]&inScheme != 0:
		case c == ':':
			letter := s[0] | 0x20
			return i, i > 0 && valid && 'a' <= letter && letter <= 'z'
		case c == '/' || c == '?' || c == '#':
			return 0, true
		default:
			valid = false
		}
	}
	return 0, true
}

// authorityEnd returns the end of the authority that starts at s[i].
func authorityEnd(s string, i int) int {
	for ; i < len(s); i++ {
		if c := s[i]; c == '/' || c == '?' || c == '#' {
			break
		}
	}
	return i
}

// parseAuthority parses [user [":" password] "@"] host [":" port], which is u.text[start:end].
func (u *URI) parseAuthority(start, end int) *Error {
	u.authority = true
	auth := u.text[start:end]
	host := start
	if at := strings.LastIndexByte(auth, '@'); at >= 0 {
		u.at = uint32(start + at)
		host += at + 1
		if err := checkUser(u.text, start, start+at); err != nil {
			return err
		}
	}
	hostEnd := end
	if host < end && u.text[host] == '[' {
		n := strings.IndexByte(u.text[host:end], ']')
		if n < 0 {
			return malformed(host, "[ without ]")
		}
		hostEnd = host + n + 1
	} else if n := strings.IndexByte(u.text[host:end], ':'); n >= 0 {
		hostEnd = host + n
	}
	if hostEnd < end {
		if err := u.parsePort(hostEnd, end); err != nil {
			return err
		}
	}
	u.hostEnd = uint32(hostEnd)
	raw := u.text[host:hostEnd]
	name, reason := canonicalHost(raw)
	if reason != "" {
		return malformed(host, reason)
	}
	if u.host = name; name != raw && strings.EqualFold(name, raw) && lookup(u.Scheme()).caseHost {
		u.host = raw
	}
	return nil
}

// parsePort parses the port with its colon at u.text[start:end]. The digits may be missing (RFC
// 3986, section 3.2.3).
func (u *URI) parsePort(start, end int) *Error {
	if u.text[start] != ':' {
		return malformed(start, "text after ] in the host")
	}
	if start+1 == end {
		return nil
	}
	n := 0
	for i := start + 1; i < end; i++ {
		c := u.text[i]
		if c < '0' || c > '9' {
			return malformed(i, "port is not a number")
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return malformed(start+1, "port above 65535")
		}
	}
	if n == 0 {
		return malformed(start+1, "port 0 cannot be reached")
	}
	u.port = uint16(n)
	return nil
}

// checkUser checks the user information at s[i:end]. No protocol accepts CR, LF or NUL in a name or
// password, so they are errors for all schemes.
func checkUser(s string, i, end int) *Error {
	for ; i < end; i++ {
		switch c := s[i]; {
		case class[c]&inUser != 0:
		case c == '%' && isEscape(s[:end], i):
			if d := decoded(s, i); d == '\r' || d == '\n' || d == 0 {
				reason := ErrControl.Error() + " in the user information"
				return &Error{Reason: reason, Offset: i, Err: ErrControl}
			}
			i += 2
		case c == '%':
			return malformed(i, reasonPercent)
		default:
			return malformed(i, "a character that must be encoded in the user information")
		}
	}
	return nil
}

// describe returns a printable name of a byte.
func describe(c byte) string {
	switch {
	case c == ' ':
		return "space"
	case c < ' ' || c == 0x7f:
		return "control character"
	case c > 0x7f:
		return "non-ASCII character"
	}
	return strconv.Quote(string(rune(c)))
}
