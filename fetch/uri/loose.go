package uri

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blanks are the white space characters of RFC 1738's appendix.
const blanks = " \t\r\n\v\f"

// ParseLoose parses a URL that was typed or pasted. It accepts the same input as [ParseRef], and
// also corrects unambiguous mistakes:
//
//   - Quotation marks and brackets around the URL, as in “http://h/x” and (http://h/x), and
//     invisible characters before and after it are removed.
//   - The slashes and the colon are corrected in http:/h/x, http:///h/x and http//h/x, and also for
//     other schemes of the table (see the package comment) whose URLs require a host.
//   - A host and port without a scheme, as in h.example:8080/x and 127.0.0.1:8080, get https if the
//     port is 443 and http otherwise. The host must be an address or contain a dot, because
//     "localhost:8080" could be a URL of a scheme localhost.
//
// A text without a scheme and a port is a relative reference: ParseLoose does not guess a scheme.
func ParseLoose(s string) (URI, error) {
	return parseRepaired(respell(unquote(s)))
}

// ParseRef parses a reference in a document, such as the value of an HTML attribute or of a
// Location field. It removes white space around the URL, a "<...>" wrapper and the prefix "URL:".
// It also removes white space that breaks lines: all of it inside a wrapper, otherwise tabs, line
// breaks and the blanks next to them. A hyphen before a line break is kept (RFC 1738, appendix).
//
// If [Parse] does not accept the text, ParseRef encodes characters that should have been encoded:
// spaces, control and non-ASCII characters, a second "#", a "%" that does not start an escape, an
// "@" in a user name, the "%" of an IPv6 zone, and similar ones. A backslash in the authority is an
// error, because programs disagree about its meaning. Errors are of type [*Error].
func ParseRef(s string) (URI, error) {
	return parseRepaired(unwrap(s))
}

func parseRepaired(text string) (URI, error) {
	u, err := parse(text)
	if err != nil && len(text) <= MaxLen {
		u, err = parse(repair(text))
	}
	if err != nil {
		err.Input, err.Offset = redactText(text), -1
		return URI{}, err
	}
	return u, nil
}

// unquote is unwrap for a URL that may also be in quotation marks or brackets. They are kept unless
// they enclose an absolute URL.
func unquote(s string) string {
	s = strings.TrimFunc(s, isInvisible)
	inner := s
	for {
		open, n := utf8.DecodeRuneInString(inner)
		last, m := utf8.DecodeLastRuneInString(inner)
		if n+m > len(inner) || !strings.ContainsRune(closing(open), last) {
			break
		}
		inner = strings.TrimFunc(inner[n:len(inner)-m], isInvisible)
	}
	if len(inner) < len(s) {
		if text := unwrap(inner); isAbsolute(respell(text)) {
			return text
		}
	}
	return unwrap(s)
}

// closing returns the marks that close mark in some language.
func closing(mark rune) string {
	switch mark {
	case '“', '”':
		return "”"
	case '„':
		return "“”"
	case '‘', '’':
		return "’"
	case '‚':
		return "‘’"
	case '«':
		return "»"
	case '»':
		return "«"
	case '‹':
		return "›"
	case '›':
		return "‹"
	case '「':
		return "」"
	case '"', '\'', '`':
		return string(mark)
	case '(':
		return ")"
	case '[':
		return "]"
	case '{':
		return "}"
	}
	return ""
}

func isInvisible(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || '\t' <= r && r <= '\r'
	}
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
}

func isAbsolute(s string) bool {
	i, ok := schemeEnd(s)
	return ok && i > 0
}

func respell(s string) string {
	i := strings.IndexAny(s, ":/?#")
	if i < 0 {
		return s
	}
	name, rest := s[:i], s[i:]
	switch {
	case !lookup(strings.ToLower(name)).host:
		if scheme := hostPortScheme(s); scheme != "" {
			return scheme + "://" + s
		}
	case strings.HasPrefix(rest, "//"):
		return name + ":" + rest
	case strings.HasPrefix(rest, ":/"):
		host := strings.TrimLeft(rest[1:], "/")
		if len(rest) != len("://")+len(host) && host != "" && host[0] != '?' && host[0] != '#' {
			return name + "://" + host
		}
	}
	return s
}

// hostPortScheme returns the scheme to insert before s if s begins with a host and a port,
// otherwise "".
func hostPortScheme(s string) string {
	s = s[:authorityEnd(s, 0)]
	i := strings.LastIndexByte(s, ':')
	if i < 0 || !isDigits(s[i+1:]) {
		return ""
	}
	var u URI
	u.text = s
	if err := u.parseAuthority(0, len(s)); err != nil || u.port == 0 || u.at > 0 {
		return ""
	}
	// "12:30" does not mean port 30 of 0.0.0.12, so addresses must be complete.
	if _, err := netip.ParseAddr(strings.Trim(s[:i], "[]")); err != nil && !isDomain(u.host) {
		return ""
	}
	if u.port == 443 {
		return "https"
	}
	return "http"
}

// isDomain reports whether host has several labels and the last one could be a top-level domain.
func isDomain(host string) bool {
	host = strings.TrimSuffix(host, ".")
	i := strings.LastIndexByte(host, '.')
	return i > 0 && len(host)-i > 2 && 'a' <= host[i+1] && host[i+1] <= 'z'
}

// unwrap removes the wrapper and the prefix of a URL, and the white space around and within it.
func unwrap(s string) string {
	s = strings.Trim(s, blanks)
	wrapped := len(s) > 1 && s[0] == '<' && s[len(s)-1] == '>'
	if wrapped {
		s = strings.Trim(s[1:len(s)-1], blanks)
	}
	if len(s) >= 4 && strings.EqualFold(s[:4], "URL:") {
		s = strings.TrimLeft(s[4:], blanks)
	}
	if !strings.ContainsAny(s, blanks) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		i := strings.IndexAny(s, blanks)
		if i < 0 {
			i = len(s)
		}
		b.WriteString(s[:i])
		rest := strings.TrimLeft(s[i:], blanks)
		if gap := s[i : len(s)-len(rest)]; !wrapped && !strings.ContainsAny(gap, "\r\n") {
			b.WriteString(strings.ReplaceAll(gap, "\t", ""))
		}
		s = rest
	}
	return b.String()
}

// repair encodes the characters that parse does not accept, if their meaning is clear.
func repair(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	i, _ := schemeEnd(s)
	if i > 0 {
		i++
	}
	b.WriteString(s[:i])
	if strings.HasPrefix(s[i:], "//") {
		end := authorityEnd(s, i+2)
		b.WriteString("//")
		repairAuthority(&b, s[i+2:end])
		i = end
	}
	path, fragment, hasFragment := strings.Cut(s[i:], "#")
	repairText(&b, path, inText)
	if hasFragment {
		b.WriteByte('#')
		repairText(&b, fragment, inText)
	}
	return b.String()
}

func repairAuthority(b *strings.Builder, auth string) {
	if strings.Contains(auth, `\`) {
		b.WriteString(auth) // parse returns the error
		return
	}
	host := auth
	if at := strings.LastIndexByte(auth, '@'); at >= 0 {
		repairText(b, auth[:at], inUser)
		b.WriteByte('@')
		host = auth[at+1:]
	}
	if strings.HasPrefix(host, "[") && !strings.Contains(host, "%25") {
		host = strings.Replace(host, "%", "%25", 1)
	}
	b.WriteString(host)
}

func repairText(b *strings.Builder, s string, keep uint8) {
	for i := range len(s) {
		if c := s[i]; class[c]&keep != 0 || c == '%' && isEscape(s, i) {
			b.WriteByte(c)
		} else {
			writeEscaped(b, c)
		}
	}
}
