package fetch

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns s with all characters escaped that could control a terminal or deceive a
// reader: C0 and C1 control characters, DEL, invalid UTF-8, and Unicode format characters such as
// bidirectional overrides. Text from servers must be passed through Printable before it is shown.
func Printable(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch c := s[i]; {
		case !unprintable(r) || r == utf8.RuneError && n > 1:
			b.WriteString(s[i : i+n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case n == 1: // binary data has many
			b.Write([]byte{'\\', 'x', hexDigits[c>>4], hexDigits[c&0xf]})
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

const hexDigits = "0123456789abcdef"

// unprintable returns true for utf8.RuneError too, because strings.ContainsFunc passes it for each
// invalid byte. A genuine U+FFFD is printed unchanged.
func unprintable(r rune) bool {
	if r >= ' ' && r < 0x7f {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' ||
		r == utf8.RuneError
}
