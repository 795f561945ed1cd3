// Package weblink parses the Link field of HTTP (RFC 8288, section 3).
package weblink

import (
	"iter"
	"strings"
)

// All yields the targets and parameters of the links in a field value. Parameter names are in lower
// case. If a parameter is repeated, the first one counts. What is not a link is skipped.
func All(line string) iter.Seq2[string, map[string]string] {
	return func(yield func(string, map[string]string) bool) {
		for {
			_, rest, ok := strings.Cut(line, "<")
			if !ok {
				return
			}
			target, rest, ok := strings.Cut(rest, ">")
			if !ok {
				return
			}
			params := map[string]string{}
			for {
				if rest = strings.TrimLeft(rest, " \t"); !strings.HasPrefix(rest, ";") {
					break
				}
				rest = strings.TrimLeft(rest[1:], " \t")
				end := strings.IndexAny(rest, "=;,")
				if end < 0 {
					end = len(rest)
				}
				name, text := strings.ToLower(strings.TrimSpace(rest[:end])), ""
				if rest = rest[end:]; strings.HasPrefix(rest, "=") {
					text, rest = value(strings.TrimLeft(rest[1:], " \t"))
				}
				if _, ok := params[name]; !ok && name != "" {
					params[name] = text
				}
			}
			if !yield(target, params) {
				return
			}
			line = rest
		}
	}
}

// value returns the value of a parameter, a token or a quoted string, and the rest of s.
func value(s string) (text, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.TrimSpace(s[:end]), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
