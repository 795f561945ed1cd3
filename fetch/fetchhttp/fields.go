package fetchhttp

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// hopByHop lists the fields that concern one connection or a proxy on the way (RFC 9110, sections 7.6.1
// and 11.7), and those that describe how a body is sent.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Content-Length", "Proxy-Authenticate", "Proxy-Authentication-Info"}

// endToEnd returns a copy of the fields of a message that reach its recipient: not those of the connection
// and those that Connection names.
func endToEnd[H ~map[string][]string](fields H) http.Header {
	h := make(http.Header, len(fields))
	for name, values := range fields {
		// A proxy removes blanks before the colon (RFC 9112, section 5.1).
		name = textproto.CanonicalMIMEHeaderKey(strings.TrimRight(name, " \t"))
		if len(values) > 0 && !slices.Contains(hopByHop, name) {
			h[name] = append(h[name], values...)
		}
	}
	for _, list := range fields["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.Trim(name, " \t"))
		}
	}
	return h
}

// trailerFields returns the fields of a trailer that may be forwarded: not those that frame, route or
// change the message (RFC 9110, section 6.5.1).
func trailerFields[H ~map[string][]string](fields H) http.Header {
	h := make(http.Header, len(fields))
	for name, values := range fields {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if httpguts.ValidTrailerHeader(name) && !slices.Contains(hopByHop, name) {
			h[name] = values
		}
	}
	return h
}
