package fetchhttp_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"golang.org/x/net/proxy"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/protocols/ftp"
)

// A clientsSite is a server with sessions: /login sets a cookie, and all other pages show the login
// that the server sees. It takes a connection with "Authorization: NTLM" as logged in until it ends,
// as servers of Windows do (RFC 4559, section 6).
type clientsSite struct {
	mu    sync.Mutex
	bound map[string]string // logins, by the address of the client
}

func (s *clientsSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/login" {
		for _, c := range []string{"sid=ALICE; Path=/", "kept=ALICE; Path=/; Max-Age=600; HttpOnly", "__Host-s=ALICE; Path=/; Secure"} {
			w.Header().Add("Set-Cookie", c)
		}
		http.Redirect(w, r, "/page", http.StatusFound)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if scheme, user, _ := strings.Cut(r.Header.Get("Authorization"), " "); scheme == "NTLM" || scheme == "Negotiate" {
		s.bound[r.RemoteAddr] = user
	}
	fmt.Fprintf(w, "cookies %q login %q", strings.Join(r.Header["Cookie"], "|"), s.bound[r.RemoteAddr])
}

// Each client of a proxy has its own session, in whatever way it uses the proxy: the proxy neither
// keeps cookies nor reuses a connection that a login belongs to.
func TestClientsOfAProxyAreKeptApart(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(&clientsSite{bound: map[string]string{}})
	t.Cleanup(plain.Close)
	overTLS := httptest.NewUnstartedServer(&clientsSite{bound: map[string]string{}})
	overTLS.EnableHTTP2 = true
	overTLS.StartTLS()
	t.Cleanup(overTLS.Close)
	dir := filepath.Join(t.TempDir(), "ca")
	authority, err := fetchhttp.LoadAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots, upstream := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	upstream.AddCert(overTLS.Certificate())
	opts := &fetch.Options{Policy: &fetch.Policy{AllowPrivate: true}, TLS: &tls.Config{RootCAs: upstream}}
	address := serveProxy(t, &fetchhttp.Proxy{Authority: authority}, opts)
	for _, tt := range []struct {
		name, base string
		socks      bool
	}{
		{"http", plain.URL, false},
		{"https", overTLS.URL, false},
		{"http over SOCKS5", plain.URL, true},
		{"https over SOCKS5", overTLS.URL, true},
		{"gateway", "http://" + address + "/http/" + plain.Listener.Addr().String(), false},
		{"gateway to https", "http://" + address + "/https/" + overTLS.Listener.Addr().String(), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := func() *http.Client { // without a jar
				tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}}
				switch {
				case tt.socks:
					d, err := proxy.SOCKS5("tcp", address, nil, proxy.Direct)
					if err != nil {
						t.Fatal(err)
					}
					tr.DialContext = d.(proxy.ContextDialer).DialContext
				case !strings.HasPrefix(tt.name, "gateway"):
					tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: address})
				}
				t.Cleanup(tr.CloseIdleConnections)
				return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			}
			get := func(c *http.Client, path string, fields ...string) (string, http.Header) {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), "GET", tt.base+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i := 0; i < len(fields); i += 2 {
					r.Header.Set(fields[i], fields[i+1])
				}
				resp, err := c.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				return string(body), resp.Header
			}
			alice, bob := client(), client()
			_, h := get(alice, "/login")
			gateway := strings.HasPrefix(tt.name, "gateway")
			if got := len(h["Set-Cookie"]); got != 3 && !gateway || got != 0 && gateway { // a gateway's own site has no cookies of others
				t.Errorf("the client received %q", h["Set-Cookie"])
			}
			own := "mine=1; sid=BOB"
			if gateway {
				own = ""
			}
			for _, c := range []*http.Client{alice, bob} {
				if got, _ := get(c, "/page"); got != `cookies "" login ""` {
					t.Errorf("without a cookie: %s", got)
				}
				if got, _ := get(c, "/page", "Cookie", "mine=1; sid=BOB"); got != fmt.Sprintf(`cookies %q login ""`, own) {
					t.Errorf("with an own cookie: %s", got)
				}
			}
			if gateway || tt.socks && tt.base == plain.URL { // the gateway forwards no logins, and a tunnel belongs to its client
				return
			}
			for _, scheme := range []string{"NTLM", "Negotiate"} {
				if got, _ := get(alice, "/page", "Authorization", scheme+" ALICE"); got != `cookies "" login "ALICE"` {
					t.Errorf("%s: %s", scheme, got)
				}
				if got, _ := get(bob, "/page"); got != `cookies "" login ""` {
					t.Errorf("after %s of another client: %s", scheme, got)
				}
			}
		})
	}
}

// A session with a login serves only requests that name the same user and password.
func TestClientsOfAProxyShareNoSessions(t *testing.T) {
	t.Parallel()
	files := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"a": {Data: []byte("secret")}}, Users: map[string]string{"alice": "pw"}})
	address := serveProxy(t, &fetchhttp.Proxy{}, &fetch.Options{Policy: &fetch.Policy{AllowPrivate: true}}, ftp.Load)
	for _, login := range []string{"", "alice@", "alice:@", "alice:wrong@", "ALICE:pw@"} {
		for _, user := range []string{"alice:pw@", login} {
			want := "HTTP/1.0 403"
			if user == "alice:pw@" {
				want = "HTTP/1.0 200"
			}
			u := strings.Replace(files.URL, "//", "//"+user, 1) + "/a"
			for range 2 {
				if got := raw(t, address, "GET "+u+" HTTP/1.0\r\n\r\n"); !strings.HasPrefix(got, want) {
					t.Errorf("%s: %q, want %s", u, got, want)
				}
			}
		}
	}
}
