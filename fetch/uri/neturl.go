package uri

import (
	"net/url"
	"strconv"
	"strings"
)

// NetURL returns u for use with net/http. A request for the result has the path and query of u,
// byte by byte. The fragment, which is never sent, is omitted. The decoded Path, which net/http
// does not send, may contain any byte. NetURL fails if u is not an http or https URL, because
// net/url splits other URLs differently.
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
		n.Host += ":" + strconv.Itoa(int(u.port))
	}
	if name, ok := u.User(); ok {
		n.User = url.User(name)
		if password, ok := u.Password(); ok {
			n.User = url.UserPassword(name, password)
		}
	}
	// net/url would write "|" as "%7C". Opaque is sent unchanged, in the absolute form of a
	// request, which servers and proxies must accept (RFC 9112, section 3.2.2).
	if n.EscapedPath() != n.RawPath {
		n.Opaque = "//" + n.Host + n.RawPath
	}
	return n, nil
}

func (u URI) malformed(reason string) *Error {
	return &Error{Input: redactText(u.Redacted()), Reason: reason, Offset: -1}
}
