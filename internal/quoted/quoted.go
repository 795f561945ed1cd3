// Package quoted parses and writes quoted strings, which many protocols have in the form of RFC 9110.
package quoted

import "strings"

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// String returns s as a quoted string. The caller excludes characters that the protocol does not allow.
func String(s string) string { return `"` + escapes.Replace(s) + `"` }

// Cut returns the unquoted value of the quoted string (RFC 9110, section 5.6.4) at the beginning of
// s, and the rest of s. If s does not begin with a quoted string, ok is false.
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
