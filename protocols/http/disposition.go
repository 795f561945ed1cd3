package http

import (
	"mime"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch/driver"
)

// suggestedName returns the file name that a Content-Disposition proposes, as one safe path
// element, or "" (RFC 6266).
func suggestedName(disposition string) string { return driver.SafeName(filename(disposition)) }

// filename reads the name: "filename*", which mime decodes (RFC 8187), before "filename".
func filename(disposition string) string {
	if disposition == "" {
		return ""
	}
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil && params == nil {
		return ""
	}
	name := params["filename"]
	if !utf8.ValidString(name) {
		name = fromLatin1(name)
	}
	return name
}

// fromLatin1 returns s, in ISO 8859-1, in UTF-8.
func fromLatin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
