// Package bench compares this module with other programs and with the standard library. Run it by
// hand:
//
//	go test -run '^$' -bench . -benchmem ./bench
package bench

import (
	"net/url"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

// BenchmarkURIParse parses the same strings with fetch/uri and with net/url. The targets for every
// string are 2 allocations and the time of net/url.
//
//	go test -run '^$' -bench URIParse -benchmem ./bench
func BenchmarkURIParse(b *testing.B) {
	for _, c := range []struct{ name, url string }{
		{"short", "http://example.com/"},
		{"typical", "https://www.example.com/articles/2024/05/some-title.html?utm_source=feed&page=2#comments"},
		{"escaped", "https://example.com/a%20b/%C3%BC/c%2Fd?q=caf%C3%A9+au+lait"},
		{"upper-case-host", "http://WWW.Example.COM/a/b"},
		{"userinfo", "ftp://myname:secret@host.dom:2121/%2Fetc/motd;type=a"},
		{"ipv4", "http://192.0.2.1:8080/status"},
		{"ipv6", "http://[2001:db8::1]:8080/status"},
		{"relative", "../images/logo.png"},
		{"gopher", "gopher://gopher.example/7/search%09some%20words"},
		{"opaque", "mailto:someone@example.com"},
	} {
		b.Run(c.name+"/uri", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := uri.Parse(c.url); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/net-url", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := url.Parse(c.url); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
