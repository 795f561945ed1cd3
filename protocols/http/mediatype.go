package http

import (
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/urlget/urlget/internal/responsehead"
)

// contentType returns the Content-Type of a response. Some servers send several values, of which browsers
// use the last valid one (Fetch Standard, "extract a MIME type"), and some omit the semicolon before the
// parameters. Other invalid values are returned as they are.
func contentType(h http.Header) string {
	text := strings.Join(h.Values("Content-Type"), ",")
	if isUsualType(text) {
		return text
	}
	if _, _, err := mime.ParseMediaType(text); err == nil {
		return text
	}
	found := ""
	for value := range strings.SplitSeq(text, ",") {
		value = strings.TrimSpace(value)
		if name, rest, ok := strings.Cut(value, " "); ok && !strings.Contains(name, ";") {
			value = name + "; " + strings.TrimLeft(rest, " ;")
		}
		if !isMediaType(value) || value == "*/*" || hasParametersOf(found, value) {
			continue
		}
		found = value
	}
	if found == "" {
		return text
	}
	return found
}

func isMediaType(text string) bool {
	name, _, err := mime.ParseMediaType(text)
	return (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter)) && strings.Contains(name, "/")
}

// hasParametersOf reports whether value is the media type of an earlier one without its charset.
func hasParametersOf(earlier, value string) bool {
	name, parameters, _ := mime.ParseMediaType(earlier)
	return parameters["charset"] != "" && strings.EqualFold(name, value)
}

// isUsualType reports whether s is a media type with at most one parameter, as most are. If it returns
// false, s may be one, too.
func isUsualType(s string) bool {
	name, parameter, hasParameter := strings.Cut(s, ";")
	kind, sub, _ := strings.Cut(name, "/")
	if !responsehead.IsToken(kind) || !responsehead.IsToken(sub) {
		return false
	}
	attribute, value, _ := strings.Cut(strings.TrimLeft(parameter, " "), "=")
	return !hasParameter || responsehead.IsToken(attribute) && responsehead.IsToken(value)
}
