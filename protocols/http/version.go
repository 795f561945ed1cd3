package http

import (
	"net/http"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// maxVersions limits the servers whose version is remembered.
const maxVersions = 1024

// versions remembers the servers that refused HTTP/1.1 or HTTP/2, and the version to use instead.
type versions struct {
	mu sync.Mutex
	by map[string]Protocols // by host and port
}

// of returns 0 if both versions may be used.
func (v *versions) of(host string) Protocols {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.by[host]
}

// prefer reports whether the version is new for the host, or was chosen by another request.
func (v *versions) prefer(host string, version Protocols) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	old, known := v.by[host]
	if known || len(v.by) >= maxVersions {
		return old == version
	}
	if v.by == nil {
		v.by = make(map[string]Protocols)
	}
	v.by[host] = version
	return true
}

// changeVersion reports whether a request should be sent again, once, with the other version. The
// server has refused the version used, and so has not performed the request.
func (d *opener) changeVersion(t *target, used int) bool {
	http1, http2 := d.Protocols.overTCP()
	if t.versionChanged || !http1 || !http2 || d.Transport != nil ||
		!t.proxy.IsZero() || t.url.Scheme != "https" {
		return false
	}
	switch {
	case used == 2:
		t.versionChanged = d.versions.prefer(t.url.Host, HTTP1)
	case used == 1 && d.Single: // otherwise the server has chosen it
		t.versionChanged = d.versions.prefer(t.url.Host, HTTP2)
	}
	return t.versionChanged
}

// refusesVersion reports whether a status may be about the version of HTTP: 426 requires another one, 505
// does not support it, and 421 does not serve the URL on this connection (RFC 9110, sections 15.5.22,
// 15.6.6 and 15.5.20).
func refusesVersion(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusUpgradeRequired, http.StatusHTTPVersionNotSupported, http.StatusMisdirectedRequest:
		return true
	}
	return false
}

// requiresHTTP1 reports whether err is the error HTTP_1_1_REQUIRED (RFC 9113, section 7) of a stream or
// connection. IIS and Apache send it for client certificates and for logins of a connection.
func requiresHTTP1(err error) bool {
	return fetch.CodeOf(err) == fetch.ErrNetwork && strings.Contains(err.Error(), "HTTP_1_1_REQUIRED")
}
