package fetch

import (
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
		{"loopback by name", map[string]string{"all_proxy": "http://p:1"}, "ftp://localhost/", ""},
		{"loopback by address", map[string]string{"all_proxy": "http://p:1"}, "ftp://127.0.0.2/", ""},
		{"loopback in IPv6", map[string]string{"all_proxy": "http://p:1"}, "ftp://[::1]/", ""},
	}
	for _, tt := range tests {
		got, err := environmentProxy(uri.MustParse(tt.url), func(name string) string { return tt.env[name] })
		if err != nil || got.String() != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestBadEnvironmentProxyKeepsItsSecret(t *testing.T) {
	t.Parallel()
	_, err := environmentProxy(uri.MustParse("http://h/"), func(name string) string {
		return map[string]string{"http_proxy": "http://u:secret@p:port"}[name]
	})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}
