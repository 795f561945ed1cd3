package fetch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

func TestEnvironmentProxy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  map[string]string
		url  string
		want string
	}{
		{"nothing set", nil, "http://h/", ""},
		{"the scheme's own", map[string]string{"ftp_proxy": "http://p:1"}, "ftp://h/", "http://p:1"},
		{"another scheme's", map[string]string{"http_proxy": "http://p:1"}, "ftp://h/", ""},
		{"upper case", map[string]string{"FTP_PROXY": "http://p:1"}, "ftp://h/", "http://p:1"},
		{"lower case goes first", map[string]string{"ftp_proxy": "http://p:1", "FTP_PROXY": "http://q:1"}, "ftp://h/", "http://p:1"},
		{"HTTP_PROXY", map[string]string{"HTTP_PROXY": "http://p:1"}, "http://h/", "http://p:1"},
		{"HTTP_PROXY in a CGI program may be a request's header", map[string]string{"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, "http://h/", ""},
		{"http_proxy in a CGI program", map[string]string{"http_proxy": "http://p:1", "REQUEST_METHOD": "GET"}, "http://h/", "http://p:1"},
		{"for all", map[string]string{"all_proxy": "socks5://p:1"}, "gopher://h/", "socks5://p:1"},
		{"for all, in upper case", map[string]string{"ALL_PROXY": "socks5://p:1"}, "gopher://h/", "socks5://p:1"},
		{"the scheme's own goes first", map[string]string{"all_proxy": "socks5://p:1", "gopher_proxy": "http://q:1"}, "gopher://h/", "http://q:1"},
		{"no scheme", map[string]string{"http_proxy": "p:1"}, "http://h/", "http://p:1"},
		{"with a password", map[string]string{"http_proxy": "http://u:s@p:1"}, "http://h/", "http://u:s@p:1"},
		{"host in no_proxy", map[string]string{"http_proxy": "http://p:1", "no_proxy": "h"}, "http://h/", ""},
		{"domain in no_proxy", map[string]string{"http_proxy": "http://p:1", "no_proxy": "x, .example"}, "http://a.example/", ""},
		{"another host in no_proxy", map[string]string{"http_proxy": "http://p:1", "no_proxy": "g"}, "http://h/", "http://p:1"},
		{"network in NO_PROXY", map[string]string{"http_proxy": "http://p:1", "NO_PROXY": "192.0.2.0/24"}, "http://192.0.2.7/", ""},
		{"host and port in no_proxy", map[string]string{"ftp_proxy": "http://p:1", "no_proxy": "h:2121"}, "ftp://h:2121/", ""},
		{"everything in no_proxy", map[string]string{"all_proxy": "http://p:1", "no_proxy": "*"}, "ftp://h/", ""},
		{"blanks divide too", map[string]string{"http_proxy": "http://p:1", "no_proxy": "x h\ty"}, "http://h/", ""},
		{"no comma, no blank", map[string]string{"http_proxy": "http://p:1", "no_proxy": "x;h"}, "http://h/", "http://p:1"},
		{"a dot at the end of the entry", map[string]string{"http_proxy": "http://p:1", "no_proxy": "a.example."}, "http://a.example/", ""},
		{"a dot at the end of the host", map[string]string{"http_proxy": "http://p:1", "no_proxy": "a.example"}, "http://a.example./", ""},
		{"a dot in front means the name too", map[string]string{"http_proxy": "http://p:1", "no_proxy": ".a.example"}, "http://a.example/", ""},
		{"below a name", map[string]string{"http_proxy": "http://p:1", "no_proxy": "a.example"}, "http://b.a.example/", ""},
		{"the end of a name is not below it", map[string]string{"http_proxy": "http://p:1", "no_proxy": "a.example"}, "http://ba.example/", "http://p:1"},
		{"asterisk and dot", map[string]string{"http_proxy": "http://p:1", "no_proxy": "*.a.example"}, "http://b.a.example/", ""},
		{"letters of both cases", map[string]string{"http_proxy": "http://p:1", "no_proxy": "A.Example"}, "http://a.example/", ""},
		{"an international name", map[string]string{"http_proxy": "http://p:1", "no_proxy": "bücher.example"}, "http://xn--bcher-kva.example/", ""},
		{"an address of IPv6", map[string]string{"http_proxy": "http://p:1", "no_proxy": "2001:db8::2"}, "http://[2001:db8::2]/", ""},
		{"an address of IPv6 in brackets", map[string]string{"http_proxy": "http://p:1", "no_proxy": "[2001:db8::2]"}, "http://[2001:db8:0::2]/", ""},
		{"an address of IPv6 with a port", map[string]string{"http_proxy": "http://p:1", "no_proxy": "[2001:db8::2]:8080"}, "http://[2001:db8::2]:8080/", ""},
		{"an address of IPv6 with another port", map[string]string{"http_proxy": "http://p:1", "no_proxy": "[2001:db8::2]:8080"}, "http://[2001:db8::2]/", "http://p:1"},
		{"a network of IPv6", map[string]string{"http_proxy": "http://p:1", "no_proxy": "2001:db8::/32"}, "http://[2001:db8::2]/", ""},
		{"an address of IPv4 as IPv6", map[string]string{"http_proxy": "http://p:1", "no_proxy": "192.0.2.7"}, "http://[::ffff:192.0.2.7]/", ""},
		{"the end of an address", map[string]string{"http_proxy": "http://p:1", "no_proxy": "2.7"}, "http://192.0.2.7/", "http://p:1"},
		{"no network", map[string]string{"http_proxy": "http://p:1", "no_proxy": "192.0.2.0/99,/24,h/8"}, "http://192.0.2.7/", "http://p:1"},
		{"the scheme's own port", map[string]string{"all_proxy": "http://p:1", "no_proxy": "a.test:21"}, "ftp://a.test/", ""},
		{"the scheme's own port, named", map[string]string{"all_proxy": "http://p:1", "no_proxy": "a.test:21"}, "ftp://a.test:21/", ""},
		{"another scheme's port", map[string]string{"all_proxy": "http://p:1", "no_proxy": "a.test:80"}, "ftp://a.test/", "http://p:1"},
		{"another port", map[string]string{"all_proxy": "http://p:1", "no_proxy": "a.test:21"}, "ftp://a.test:2121/", "http://p:1"},
		{"SOCKS4A for http", map[string]string{"http_proxy": "socks4a://p:1"}, "http://h/", "socks4a://p:1"},
		{"loopback by name", map[string]string{"all_proxy": "http://p:1"}, "ftp://localhost/", ""},
		{"loopback by address", map[string]string{"all_proxy": "http://p:1"}, "ftp://127.0.0.2/", ""},
		{"loopback in IPv6", map[string]string{"all_proxy": "http://p:1"}, "ftp://[::1]/", ""},
	}
	for _, tt := range tests {
		port := map[string]uint16{"http": 80, "ftp": 21}[uri.MustParse(tt.url).Scheme()]
		got, err := environmentProxy(uri.MustParse(tt.url), port, func(name string) string { return tt.env[name] })
		if err != nil || got.String() != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestInvalidProxyErrorHasNoPassword(t *testing.T) {
	t.Parallel()
	_, err := environmentProxy(uri.MustParse("http://h/"), 80, func(name string) string {
		return map[string]string{"http_proxy": "http://u:secret@p:port"}[name]
	})
	if !strings.Contains(fmt.Sprint(err), "proxy for http is not a valid URL") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	c := New(&Options{Proxy: func(uri.URI) (uri.URI, error) { return uri.Parse("http://https//u:secret@p:1") }})
	defer c.Close()
	_, err = c.proxyOf(&Request{URL: uri.MustParse("http://h/")}, Scheme{Name: "http"})
	if CodeOf(err) != ErrURL || strings.Contains(err.Error(), "secret") {
		t.Errorf("a login in the path: %v", err)
	}
}
