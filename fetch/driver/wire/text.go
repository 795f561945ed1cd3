package wire

import (
	"strings"
	"unicode/utf8"
)

// Text returns server text of undeclared charset as UTF-8: unchanged if it is valid UTF-8,
// otherwise decoded as Latin-1, in which every byte has a meaning.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/4)
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}
