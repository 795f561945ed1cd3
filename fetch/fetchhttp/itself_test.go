package fetchhttp_test

import (
	"errors"
	"net"
	"testing"

	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetch/uri"
)

// A proxy does not use itself. One at another port or host is another one.
func TestProxyDoesNotUseItself(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		listen, proxy string
		self          bool
	}{
		{"127.0.0.1:8080", "http://127.0.0.1:8080", true},
		{"127.0.0.1:8080", "http://localhost:8080/", true},
		{"127.0.0.1:8080", "http://user:pw@[::ffff:127.0.0.1]:8080", true},
		{"127.0.0.1:8080", "socks5h://127.0.0.1:8080", true},
		{"127.0.0.1:8080", "connect://0.0.0.0:8080", true},
		{"127.0.0.1:80", "http://127.0.0.1", true},
		{"127.0.0.1:1080", "socks5://127.0.0.1", true},
		{"0.0.0.0:8080", "http://127.0.0.1:8080", true},
		{"[::]:8080", "http://127.0.0.1:8080", true},
		{"[::1]:8080", "http://[::1]:8080", true},
		{"127.0.0.1:8080", "http://127.0.0.1:8081", false},
		{"127.0.0.1:8080", "http://127.0.0.2:8080", false},
		{"127.0.0.1:8080", "http://203.0.113.5:8080", false},
		{"0.0.0.0:8080", "http://203.0.113.5:8080", false},
		{"127.0.0.1:8080", "http://proxy.example:8080", false},
		{"127.0.0.1:8080", "", false},
	} {
		addr, err := net.ResolveTCPAddr("tcp", tt.listen)
		if err != nil {
			t.Fatal(err)
		}
		given := uri.MustParse(tt.proxy)
		got, err := fetchhttp.ProxyExcept(func(uri.URI) (uri.URI, error) { return given, nil }, addr)(uri.MustParse("http://h/"))
		want := given
		if tt.self {
			want = uri.URI{}
		}
		if got != want || err != nil {
			t.Errorf("at %s, the proxy %q: %q, %v", tt.listen, tt.proxy, got, err)
		}
	}
	failed := errors.New("no proxy")
	if _, err := fetchhttp.ProxyExcept(func(uri.URI) (uri.URI, error) { return uri.URI{}, failed }, &net.TCPAddr{})(uri.MustParse("http://h/")); err != failed {
		t.Errorf("error %v", err)
	}
}
