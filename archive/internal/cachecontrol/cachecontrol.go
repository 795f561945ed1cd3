// Package cachecontrol reads the Cache-Control field (RFC 9111, section 5.2).
package cachecontrol

import (
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Infinite is the value of seconds that are too many to count (RFC 9111, section 1.2.2).
const Infinite = (1 << 31) * time.Second

// A Field is a Cache-Control field: its directives in order, without those that are not valid.
type Field []directive

type directive struct {
	name, value string // the name in lower case; the value without quotes
	hasValue    bool
}

// Of returns the field of a header.
func Of(h textproto.MIMEHeader) (f Field) {
	for _, text := range h["Cache-Control"] {
		for text != "" {
			var one string
			one, text = cut(text)
			// Blanks around the sign make the value invalid, but not the name of what it restricts.
			name, value, has := strings.Cut(strings.Trim(one, " \t"), "=")
			if trimmed := strings.TrimRight(name, " \t"); trimmed != name {
				name, value = trimmed, ""
			}
			name = strings.ToLower(name)
			if name != "" {
				f = append(f, directive{name, unquoted(value), has})
			}
		}
	}
	return f
}

// cut returns the text before the first comma that is not in a quoted string, and the text after it.
func cut(text string) (before, after string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

func unquoted(value string) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return value
	}
	return strings.ReplaceAll(value[1:len(value)-1], `\`, "")
}

// Has reports whether the field has a directive, with or without a value.
func (f Field) Has(name string) bool {
	return slices.ContainsFunc(f, func(d directive) bool { return d.name == name })
}

// Seconds returns the value of a directive. Of several the first one counts. A value that is not a
// number is 0 (RFC 9111, section 4.2.1).
func (f Field) Seconds(name string) (value time.Duration, ok bool) {
	i := slices.IndexFunc(f, func(d directive) bool { return d.name == name })
	if i < 0 {
		return 0, false
	}
	value, _ = Seconds(f[i].value)
	return value, true
}

// Bare reports whether the first of the directives with a name has no value.
func (f Field) Bare(name string) bool {
	i := slices.IndexFunc(f, func(d directive) bool { return d.name == name })
	return i >= 0 && !f[i].hasValue
}

// Seconds returns a number of seconds. It reports whether the text is one.
func Seconds(text string) (value time.Duration, ok bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return Infinite, true
	}
	return time.Duration(n) * time.Second, true
}

// understood are the statuses whose rules for caches are known here (RFC 9111, section 3).
var understood = []int{200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501}

// ForbidsStore reports whether a response with a status must not be stored. Must-understand replaces
// no-store for the statuses whose rules are known (RFC 9111, section 5.2.2.3).
func (f Field) ForbidsStore(status int) bool {
	if f.Has("must-understand") {
		return !slices.Contains(understood, status)
	}
	return f.Has("no-store")
}
