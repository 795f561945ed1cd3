package wire

import (
	"strings"
	"unicode/utf8"
)

// Text returns server text whose charset nobody declared in UTF-8: as it is if it is valid UTF-8,
// else read as Latin-1, which gives each octet a meaning.
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
