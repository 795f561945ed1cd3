package links

import (
	"mime"
	"strings"
	"sync/atomic"
)

// A mediaType is the result of mime.ParseMediaType for a text.
type mediaType struct {
	text, name string
	params     map[string]string
	err        error
}

// lastType is the last one with parameters: all pages of a site have the same.
var lastType atomic.Pointer[mediaType]

// parseMediaType is mime.ParseMediaType. The parameters must not be changed.
func parseMediaType(text string) (name string, params map[string]string, err error) {
	if isPlainType(text) {
		return text, nil, nil
	}
	if t := lastType.Load(); t != nil && t.text == text {
		return t.name, t.params, t.err
	}
	name, params, err = mime.ParseMediaType(text)
	if len(text) <= maxKept {
		lastType.Store(&mediaType{strings.Clone(text), name, params, err})
	}
	return name, params, err
}

// isPlainType reports whether a text is a media type in lower case, such as "text/html".
func isPlainType(text string) bool {
	slash := strings.IndexByte(text, '/')
	for i, c := range []byte(text) {
		isToken := 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
		if !isToken && i != slash {
			return false
		}
	}
	return slash > 0 && slash < len(text)-1
}
