package fetchhttp_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/proxy"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
)

// newAuthority returns an authority for a proxy that reads TLS, and the certificates that its clients trust.
func newAuthority(t *testing.T) (*fetchhttp.Authority, *x509.CertPool) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ca")
	authority, err := fetchhttp.LoadAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	return authority, trusted
}

// readingProxy starts a proxy that reads TLS, in front of a site that answers requests for a path, without
// the slash, with these bytes. It returns functions that connect to the site as a client does.
func readingProxy(t *testing.T) (ways map[string]func() *tls.Conn) {
	t.Helper()
	authority, trusted := newAuthority(t)
	_, opts := secureSite(t, func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(rw, strings.Replace(r.URL.Query().Get("say"), "FIELDS", fmt.Sprint(r.Header), 1))
		rw.Flush()
	})
	address := serveProxy(t, &fetchhttp.Proxy{Authority: authority, Login: &fetch.Credential{User: "u", Password: "p"}}, opts)
	over := func(c net.Conn) *tls.Conn {
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(5 * time.Minute))
		return tls.Client(c, &tls.Config{RootCAs: trusted, ServerName: "example.com"})
	}
	return map[string]func() *tls.Conn{
		"CONNECT": func() *tls.Conn {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(c, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nProxy-Authorization: Basic dTpw\r\n\r\n")
			if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp, err)
			}
			return over(c)
		},
		"SOCKS5": func() *tls.Conn {
			d, err := proxy.SOCKS5("tcp", address, &proxy.Auth{User: "u", Password: "p"}, proxy.Direct)
			if err != nil {
				t.Fatal(err)
			}
			c, err := d.Dial("tcp", "example.com:443")
			if err != nil {
				t.Fatal(err)
			}
			return over(c)
		},
	}
}

// Over TLS that the proxy reads, the rules for responses are the same.
func TestResponsesOverTLS(t *testing.T) {
	t.Parallel()
	for name, connect := range readingProxy(t) {
		for what, tt := range map[string]struct {
			fields, say string
			want        string // what the response contains
			clean       bool
		}{
			"complete":       {"", "HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.0 200 OK|Connection: close|Content-Length: 2|Via: 1.1 urlget||ok", true},
			"cut":            {"", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", "", false},
			"cut chunks":     {"", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", "", false},
			"broken":         {"", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nok", "HTTP/1.0 502", true},
			"another host":   {"Host: other.example\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 421", true},
			"upgrade of 1.0": {"Upgrade: echo\r\nConnection: Upgrade\r\n", "HTTP/1.1 200 OK\r\n\r\nFIELDS", "map[Via:[1.0 urlget-", true},
		} {
			c := connect()
			request := "GET /?say=" + strings.NewReplacer("%", "%25", " ", "%20", "\r", "%0D", "\n", "%0A").Replace(tt.say) + " HTTP/1.0\r\n" + tt.fields + "\r\n"
			io.WriteString(c, request)
			b, err := io.ReadAll(c)
			if got := inOrder(string(b)); !strings.Contains(got, tt.want) || (err == nil) != tt.clean {
				t.Errorf("%s, %s: %q, %v; want %q", name, what, got, err, tt.want)
			}
		}
	}
}

// A server may refuse another protocol. Its answer is that to any request, and the connection ends.
func TestRefusedUpgrades(t *testing.T) {
	t.Parallel()
	for name, connect := range readingProxy(t) {
		for what, tt := range map[string]struct{ fields, say, want string }{
			"refused":       {"", "HTTP/1.1 403 No\r\nX-Hop: 1\r\nConnection: X-Hop\r\nContent-Length: 2\r\n\r\nno", "HTTP/1.1 403 Forbidden|Connection: close|Content-Length: 2|Via: 1.1 urlget||no"},
			"interim":       {"", "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", "HTTP/1.1 200 OK|Connection: close|Content-Length: 2|Via: 1.1 urlget||no"},
			"broken":        {"", "HTTP/1.1 000 No\r\n\r\n", "HTTP/1.1 502"},
			"nothing":       {"", "", "HTTP/1.1 502"},
			"too long":      {"", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 300<<10), "HTTP/1.1 502"},
			"not asked for": {"Connection: keep-alive\r\n", "HTTP/1.1 101 Switching\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n", "HTTP/1.1 502"},
			"the fields":    {"Proxy-Authorization: x\r\nX-Hop: 1\r\nConnection: X-Hop\r\nX-Kept: 1\r\n", "HTTP/1.1 200 OK\r\n\r\nFIELDS", "map[Connection:[Upgrade] Upgrade:[echo] Via:[1.1 urlget-"},
			"a loop":        {"Via: 1.1 x\r\n", "HTTP/1.1 200 OK\r\n\r\nFIELDS", "Via:[1.1 x 1.1 urlget-"},
		} {
			c := connect()
			connection := "Connection: Upgrade\r\n"
			if what == "not asked for" {
				connection = ""
			}
			say := strings.NewReplacer("%", "%25", " ", "%20", "\r", "%0D", "\n", "%0A").Replace(tt.say)
			fmt.Fprintf(c, "GET /?say=%s HTTP/1.1\r\nHost: example.com\r\nUpgrade: echo\r\n%s%s\r\n", say, connection, tt.fields)
			if what != "refused" && what != "interim" {
				fmt.Fprintf(c, "GET x HTTP/9.9\r\n\r\n") // which ends a connection that is kept
			}
			b, _ := io.ReadAll(c)
			if got := inOrder(string(b)); !strings.Contains(got, tt.want) || strings.Contains(got, "X-Hop:[") {
				t.Errorf("%s, %s: %.500q; want %q", name, what, got, tt.want)
			}
		}
	}
}
