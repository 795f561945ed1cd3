package http

import (
	"net"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// observeHSTS notes that a host wants https only. It counts from the host itself, if its certificate was
// verified (RFC 6797, section 8.1).
func (d *opener) observeHSTS(ex *exchange, from net.Conn) {
	if d.HSTS == nil || ex.req.URL.Scheme() != "https" || !ex.target.proxy.IsZero() {
		return
	}
	if conn := connOf(from); conn != nil && conn.TLS() != nil && conn.TLS().VerifiedChains != nil {
		d.HSTS.Observe(ex.req.URL.Host(), ex.resp.Header.Values("Strict-Transport-Security"))
	}
}

// Upgrade implements fetch.Upgrader: http URLs of hosts that want https only become https URLs. Port 80
// becomes 443; other ports stay (RFC 6797, section 8.3).
func (d *opener) Upgrade(u uri.URI) (uri.URI, bool) {
	if d.HSTS == nil || d.Transport != nil || u.Scheme() != "http" || !d.HSTS.Has(u.Host()) {
		return u, false
	}
	_, rest, _ := strings.Cut(u.WithoutPort(80).String(), ":")
	upgraded, err := uri.Parse("https:" + rest)
	return upgraded, err == nil
}
