package uri

import "strings"

// Classes of bytes. A set bit means that the byte need not be encoded in that place.
const (
	inScheme     = 1 << iota // scheme, after its first letter
	inUser                   // user information
	inName                   // registered name of a host
	inText                   // path, query and fragment
	isUnreserved             // unreserved everywhere: RFC 3986, section 2.3
	isPlain                  // not encoded by Escape
	inOpaque                 // not encoded by escapeOpaque
)

// The combinations of classes that occur in the table below.
const (
	clsWord    = inScheme | inUser | inName | inText | isUnreserved | isPlain | inOpaque
	clsMark    = inUser | inName | inText | isUnreserved | isPlain | inOpaque
	clsExtra   = inUser | inName | inText | isPlain | inOpaque
	clsPlus    = inScheme | inUser | inName | inText | inOpaque
	clsPair    = inUser | inName | inText
	clsColon   = inUser | inText | inOpaque
	clsSlash   = inText | inOpaque
	clsAllowed = inText
)

// class holds the bits of every byte. A byte without bits, such as "%", a space or a control
// character, must be encoded everywhere.
//
// "|", "[" and "]" are unsafe characters in RFC 1738. They are accepted because "file:///C|/x" and
// "?a[]=1" are in common use.
var class = [256]uint8{
	'0': clsWord, '1': clsWord, '2': clsWord, '3': clsWord, '4': clsWord, '5': clsWord,
	'6': clsWord, '7': clsWord, '8': clsWord, '9': clsWord,
	'A': clsWord, 'B': clsWord, 'C': clsWord, 'D': clsWord, 'E': clsWord, 'F': clsWord,
	'G': clsWord, 'H': clsWord, 'I': clsWord, 'J': clsWord, 'K': clsWord, 'L': clsWord,
	'M': clsWord, 'N': clsWord, 'O': clsWord, 'P': clsWord, 'Q': clsWord, 'R': clsWord,
	'S': clsWord, 'T': clsWord, 'U': clsWord, 'V': clsWord, 'W': clsWord, 'X': clsWord,
	'Y': clsWord, 'Z': clsWord,
	'a': clsWord, 'b': clsWord, 'c': clsWord, 'd': clsWord, 'e': clsWord, 'f': clsWord,
	'g': clsWord, 'h': clsWord, 'i': clsWord, 'j': clsWord, 'k': clsWord, 'l': clsWord,
	'm': clsWord, 'n': clsWord, 'o': clsWord, 'p': clsWord, 'q': clsWord, 'r': clsWord,
	's': clsWord, 't': clsWord, 'u': clsWord, 'v': clsWord, 'w': clsWord, 'x': clsWord,
	'y': clsWord, 'z': clsWord,
	'-': clsWord, '.': clsWord,
	'_': clsMark, '~': clsMark,
	'!': clsExtra, '$': clsExtra, '\'': clsExtra, '(': clsExtra, ')': clsExtra, '*': clsExtra,
	',': clsExtra,
	'+': clsPlus,
	';': clsPair, '&': clsPair, '=': clsPair,
	':': clsColon,
	'/': clsSlash, '@': clsSlash,
	'?': clsAllowed, '|': clsAllowed, '[': clsAllowed, ']': clsAllowed,
}

const upperHex = "0123456789ABCDEF"

// Escape encodes s for use as one segment of a path or one word of a query in any scheme. It
// encodes everything except letters, digits and "-._~!$'()*," (RFC 1738, section 2.2; "~" as in RFC
// 3986). The names "." and ".." cannot be made ordinary by encoding.
func Escape(s string) string { return escape(s, isPlain) }

// escapeOpaque encodes s for a url-path without reserved characters. It keeps slashes and encodes
// "?", which other programs would take for the start of a query.
func escapeOpaque(s string) string { return escape(s, inOpaque) }

func escape(s string, keep uint8) string {
	n := 0
	for i := range len(s) {
		if class[s[i]]&keep == 0 {
			n++
		}
	}
	if n == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 2*n)
	for i := range len(s) {
		if c := s[i]; class[c]&keep != 0 {
			b.WriteByte(c)
		} else {
			writeEscaped(&b, c)
		}
	}
	return b.String()
}

func writeEscaped(b *strings.Builder, c byte) {
	b.WriteByte('%')
	b.WriteByte(upperHex[c>>4])
	b.WriteByte(upperHex[c&15])
}

// Unescape decodes the percent-encoding of s. It fails with [ErrControl] if CR, LF or NUL is among
// the decoded bytes, and with an [*Error] if a "%" is not followed by two hexadecimal digits.
func Unescape(s string) (string, error) {
	for i := range len(s) {
		if s[i] == '%' && !isEscape(s, i) {
			return "", &Error{Input: redactText(s), Reason: reasonPercent, Offset: i}
		}
	}
	d := UnescapeRaw(s)
	if hasControl(d) {
		return "", &Error{Input: redactText(s), Reason: ErrControl.Error(), Offset: -1, Err: ErrControl}
	}
	return d, nil
}

// UnescapeRaw decodes the percent-encoding of s, including control characters. A "%" that is not
// followed by two hexadecimal digits is kept; the components of a [URI] contain none.
func UnescapeRaw(s string) string {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	for ; i < len(s); i++ {
		if s[i] == '%' && isEscape(s, i) {
			b.WriteByte(decoded(s, i))
			i += 2
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func hasControl(s string) bool { return strings.ContainsAny(s, "\r\n\x00") }

func isEscape(s string, i int) bool {
	return i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2])
}

// decoded returns the byte that the escape at s[i] stands for.
func decoded(s string, i int) byte { return unhex(s[i+1])<<4 | unhex(s[i+2]) }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&15 + 9
}
