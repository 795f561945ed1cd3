package http

import (
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/quoted"
)

// suggestedName returns the file name in a Content-Disposition field as one safe path element, or
// "" if there is none (RFC 6266).
func suggestedName(disposition string) string { return fetch.SafeName(filename(disposition)) }

// filename returns the parameter "filename*", which mime decodes (RFC 8187), or else "filename".
func filename(disposition string) string {
	if disposition == "" {
		return ""
	}
	_, params, _ := mime.ParseMediaType(disposition)
	name := params["filename"]
	if name == "" {
		name = looseFilename(disposition)
	}
	if !utf8.ValidString(name) {
		name = fromLatin1(name)
	}
	return name
}

// looseFilename reads a field as browsers do: values without quotes may have blanks, separators and
// characters outside ASCII, and parameters may be empty. Of repeated parameters, the first one counts.
func looseFilename(disposition string) string {
	var plain string
	_, rest, _ := strings.Cut(disposition, ";")
	for rest != "" {
		name, value, more := cutParameter(rest)
		switch rest = more; {
		case strings.EqualFold(name, "filename*"):
			if text := decodeExtended(value); text != "" {
				return text
			}
		case strings.EqualFold(name, "filename") && plain == "":
			plain = value
		}
	}
	return plain
}

func cutParameter(s string) (name, value, rest string) {
	end := strings.IndexByte(s, ';')
	equal := strings.IndexByte(s, '=')
	if equal >= 0 && (end < 0 || equal < end) {
		name = strings.TrimSpace(s[:equal])
		value, rest, ok := quoted.Cut(strings.TrimLeft(s[equal+1:], " \t"))
		if ok {
			_, rest, _ = strings.Cut(rest, ";")
			return name, value, rest
		}
	}
	s, rest, _ = strings.Cut(s, ";")
	name, value, _ = strings.Cut(s, "=")
	return strings.TrimSpace(name), strings.TrimSpace(value), rest
}

// decodeExtended decodes a value with a character set (RFC 8187, section 3.2.1). RFC 5987
// required ISO-8859-1 too.
func decodeExtended(value string) string {
	charset, rest, _ := strings.Cut(value, "'")
	_, text, ok := strings.Cut(rest, "'")
	text, err := url.PathUnescape(text)
	if !ok || err != nil {
		return ""
	}
	switch strings.ToLower(charset) {
	case "utf-8", "us-ascii":
		return text
	case "iso-8859-1":
		return fromLatin1(text)
	}
	return ""
}

func fromLatin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
