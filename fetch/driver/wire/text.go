package wire

import (
	"strings"
	"unicode/utf8"
)

// Text returns server text of unknown charset as UTF-8. Valid UTF-8 is not changed. Other text is
// decoded as Latin-1, in which every byte is valid.
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
