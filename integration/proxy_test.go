//go:build integration

package integration

import (
	"bytes"
	"crypto/tls"
	"errors"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols"
)

// TestProxyLogins retrieves through proxies with the right password, a wrong one and none.
func TestProxyLogins(t *testing.T) {
	for _, tt := range []struct{ proxy, scheme, server, port, url string }{
		{"tinyproxy", "http", "nginx", "plain", "http://"},
		{"tinyproxy", "http", "nginx", "tls", "https://"},
		{"tinyproxy", "connect", "vsftpd", "plain", "ftp://"},
		{"squid", "http", "nginx", "plain", "http://"},
		{"squid", "http", "nginx", "tls", "https://"},
		{"squid", "http", "vsftpd", "plain", "ftp://"},
		{"microsocks", "socks5", "nginx", "plain", "http://"},
		{"microsocks", "socks5", "nginx", "tls", "https://"},
		{"microsocks", "socks5", "vsftpd", "plain", "ftp://"},
	} {
		t.Run(tt.proxy+" "+tt.scheme+" "+tt.url, func(t *testing.T) {
			p, s := lab.Start(t, tt.proxy), lab.Start(t, tt.server)
			want := fixture(t, s, "65537.bin")
			for login, code := range map[string]fetch.Code{
				lab.User + ":" + lab.Password + "@": "",
				lab.User + ":wrong@":                fetch.ErrAuth,
				"":                                  fetch.ErrAuth,
			} {
				c := fetch.New(&fetch.Options{
					TLS:   &tls.Config{RootCAs: lab.CA(), ServerName: "localhost"},
					Proxy: func(uri.URI) (uri.URI, error) { return uri.Parse(tt.scheme + "://" + login + p.Addr("auth")) },
				}, protocols.All)
				got, err := c.ReadAll(t.Context(), tt.url+s.AddrFrom(p, tt.port)+"/65537.bin", 1<<20)
				c.Close()
				switch {
				case code == "" && (err != nil || !bytes.Equal(got, want)):
					t.Errorf("as %q: %d bytes, %v", login, len(got), err)
				case code != "" && !errors.Is(err, code):
					t.Errorf("as %q: %d bytes, %v (class %q)", login, len(got), err, fetch.CodeOf(err))
				}
			}
		})
	}
}
