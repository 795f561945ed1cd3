package http

import (
	"mime"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
)

// suggestedName returns the file name in a Content-Disposition field as one safe path element, or
// "" if there is none (RFC 6266).
func suggestedName(disposition string) string { return fetch.SafeName(filename(disposition)) }

// filename returns the parameter "filename*", which mime decodes (RFC 8187), or else "filename".
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

func fromLatin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
