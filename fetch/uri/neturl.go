package uri

import (
	"net/url"
	"strconv"
	"strings"
)

// NetURL returns u for use with net/http. A request for the result has the path and query of u, byte
// by byte, except that invalid characters in a path that begins with "//" are encoded. The fragment,
// which is never sent, is omitted. The decoded Path, which net/http does not send, may contain any
// byte. NetURL fails if u is not an http or https URL, because net/url splits other URLs differently.
func (u URI) NetURL() (*url.URL, error) {
	scheme := u.Scheme()
	if scheme != "http" && scheme != "https" {
		return nil, u.malformed("not an http or https URL")
	}
	if u.host == "" {
		return nil, u.malformed("no host")
	}
	query, hasQuery := u.Query()
	n := &url.URL{
		Scheme:     scheme,
		Host:       u.host,
		Path:       UnescapeRaw(u.Path()),
		RawPath:    u.Path(),
		RawQuery:   query,
		ForceQuery: hasQuery && query == "",
	}
	if strings.Contains(u.host, ":") {
		n.Host = "[" + u.host + "]"
	}
	if u.port > 0 {
		var b [64]byte
		n.Host = string(strconv.AppendUint(append(append(b[:0], n.Host...), ':'), uint64(u.port), 10))
	}
	if name, ok := u.User(); ok {
		n.User = url.User(name)
		if password, ok := u.Password(); ok {
			n.User = url.UserPassword(name, password)
		}
	}
	switch {
	case n.EscapedPath() == n.RawPath:
	case !strings.HasPrefix(n.RawPath, "//"):
		// net/url would write "|" as "%7C". Opaque is sent unchanged.
		n.Opaque = n.RawPath
	default:
		// net/http takes such an Opaque for the absolute form, which is only for proxies (RFC 9112,
		// section 3.2.1).
		n.RawPath = encodeInvalid(n.RawPath)
	}
	return n, nil
}

// encodeInvalid encodes the characters that net/url would not send unchanged.
func encodeInvalid(path string) string {
	var b strings.Builder
	for i := range len(path) {
		c := path[i : i+1]
		if c != "%" {
			c = (&url.URL{Path: c, RawPath: c}).EscapedPath()
		}
		b.WriteString(c)
	}
	return b.String()
}

func (u URI) malformed(reason string) *Error {
	return &Error{Input: redactText(u.Redacted()), Reason: reason, Offset: -1}
}
