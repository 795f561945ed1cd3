package fetchhttp_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"golang.org/x/net/proxy"

	"github.com/urlget/urlget/fetch/fetchhttp"
)

// A client that has resolved the name of a server itself gets a certificate for the name that it asks for,
// and the resources of that name. A connection serves one host.
func TestClientsThatResolveNames(t *testing.T) {
	t.Parallel()
	authority, trusted := newAuthority(t)
	_, opts := secureSite(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, r.URL) })
	address := serveProxy(t, &fetchhttp.Proxy{Authority: authority}, opts)
	socks, err := proxy.SOCKS5("tcp", address, nil, proxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		target, sni, host string
		status            int
		want              string
	}{
		{"203.0.113.9:443", "example.com", "example.com", 200, "example.com/x"},
		{"203.0.113.9:443", "www.example.com", "WWW.example.com:443", 200, "www.example.com/x"},
		{"[2001:db8::9]:443", "example.com", "example.com", 200, "example.com/x"},
		{"127.0.0.1:443", "", "127.0.0.1", 200, "127.0.0.1/x"},
		{"other.example:443", "example.com", "example.com", 200, "example.com/x"},
		{"example.com:8443", "", "example.com:8443", 200, "example.com:8443/x"},
		{"203.0.113.9:443", "example.com", "other.example", 421, "the connection is for another host\n"},
		{"203.0.113.9:443", "example.com", "example.com:8443", 421, "the connection is for another host\n"},
	} {
		conn, err := socks.Dial("tcp", tt.target)
		if err != nil {
			t.Fatal(err)
		}
		name := tt.sni
		if name == "" {
			name = "127.0.0.1"
			if tt.target == "example.com:8443" {
				name = "example.com"
			}
		}
		c := tls.Client(conn, &tls.Config{RootCAs: trusted, ServerName: name})
		r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+tt.host+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		tr := &http.Transport{DisableKeepAlives: true,
			DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return c, nil }}
		resp, err := tr.RoundTrip(r)
		if err != nil {
			t.Errorf("%s, %s: %v", tt.target, tt.sni, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status || string(body) != tt.want || err != nil {
			t.Errorf("%s, %s, Host %s: %s, %q, %v; want %d, %q", tt.target, tt.sni, tt.host, resp.Status, body, err, tt.status, tt.want)
		}
	}
}
