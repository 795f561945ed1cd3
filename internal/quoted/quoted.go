// Package quoted reads the quoted strings of HTTP header fields.
package quoted

import "strings"

// Cut cuts a quoted string (RFC 9110, section 5.6.4) off the beginning of s, and returns what
// it stands for and what follows it. It reports false if s does not begin with one.
func Cut(s string) (text, rest string, ok bool) {
	inner, ok := strings.CutPrefix(s, `"`)
	if !ok {
		return "", s, false
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '"':
			return b.String(), inner[i+1:], true
		case c == '\\' && i+1 < len(inner):
			i++
			b.WriteByte(inner[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", s, false
}
