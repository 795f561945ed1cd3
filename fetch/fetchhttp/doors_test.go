package fetchhttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/proxy"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
)

func TestProxyRequiresLogin(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "content%s%s", r.Header.Get("Proxy-Authorization"), r.Header.Get("Authorization"))
	}))
	t.Cleanup(site.Close)
	start := func() string { // one for each wrong login, because those make the next one wait
		return serveProxy(t, &fetchhttp.Proxy{Login: &fetch.Credential{User: "ada", Password: "pa:ss"}},
			&fetch.Options{Policy: &fetch.Policy{AllowPrivate: true}})
	}
	right := url.UserPassword("ada", "pa:ss")
	for name, tt := range map[string]struct {
		login  *url.Userinfo
		status int
	}{
		"right": {right, http.StatusOK}, "none": {nil, http.StatusProxyAuthRequired}, "another password": {url.UserPassword("ada", "x"), http.StatusProxyAuthRequired},
		"another user": {url.UserPassword("eve", "pa:ss"), http.StatusProxyAuthRequired}, "no password": {url.User("ada"), http.StatusProxyAuthRequired},
	} {
		tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: start(), User: tt.login}), DisableKeepAlives: true}
		resp, err := (&http.Client{Transport: tr}).Get(site.URL)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status || (string(body) == "content") != (tt.status == http.StatusOK) {
			t.Errorf("%s: %s, %q", name, resp.Status, body)
		}
	}
	for request, want := range map[string]string{
		"CONNECT " + site.Listener.Addr().String() + " HTTP/1.0\r\n\r\n":                                 "HTTP/1.0 407",
		"GET /x-thing/h/text HTTP/1.0\r\n\r\n":                                                           "HTTP/1.0 401",
		"GET /x-thing/h/text HTTP/1.0\r\nAuthorization: Basic YWRhOnBhOnNz\r\n\r\n":                      "HTTP/1.0 200",
		"GET /x-thing/h/text HTTP/1.0\r\nHost: box.example\r\nAuthorization: Basic YWRhOnBhOnNz\r\n\r\n": "HTTP/1.0 200", // at any name of the machine
		"GET x-thing://h/\r\n": "a login is required",
		"GET x-thing://h/ HTTP/1.0\r\nProxy-Authorization: Basic !!\r\n\r\n":            "HTTP/1.0 407",
		"GET x-thing://h/ HTTP/1.0\r\nProxy-Authorization: Bearer YWRhOnBhOnNz\r\n\r\n": "HTTP/1.0 407",
	} {
		if got := raw(t, start(), request); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", request, got, want)
		}
	}
	for name, tt := range map[string]struct {
		login *proxy.Auth
		ok    bool
	}{"right": {&proxy.Auth{User: "ada", Password: "pa:ss"}, true}, "wrong": {&proxy.Auth{User: "ada", Password: "x"}, false}, "none": {nil, false}} {
		d, err := proxy.SOCKS5("tcp", start(), tt.login, proxy.Direct)
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Dial("tcp", site.Listener.Addr().String())
		if (err == nil) != tt.ok {
			t.Errorf("SOCKS5, %s: %v", name, err)
		}
		if err == nil {
			c.Close()
		}
	}
}

func TestProxySpeaksHTTP09(t *testing.T) {
	t.Parallel()
	address := serveProxy(t, &fetchhttp.Proxy{}, &fetch.Options{Policy: &fetch.Policy{}})
	for request, want := range map[string]string{
		"GET x-thing://h/menu/\r\n":              "<!DOCTYPE",
		"GET x-thing://h/menu/\n":                "<!DOCTYPE",
		"GET /x-thing/h/menu/\r\n":               "<!DOCTYPE",
		"GET x-thing://h/%zz\r\n":                "The URL is malformed.",
		"GET http://127.0.0.1:1/\r\n":            "",
		"GET x-thing://h/menu/ HTTP/1.0\r\n\r\n": "HTTP/1.0 200",
		"GET\r\n":                                "HTTP/1.1 400",
	} {
		if got := raw(t, address, request); !strings.HasPrefix(got, want) || want != "" && strings.HasPrefix(want, "<") && !strings.Contains(got, "</") {
			t.Errorf("%q: %.100q, want %q", request, got, want)
		}
	}
}

// secureSite starts a site with TLS, and returns the options of a client that finds it under every name
// and trusts it as example.com.
func secureSite(t *testing.T, h http.HandlerFunc) (*httptest.Server, *fetch.Options) {
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s, &fetch.Options{Policy: &fetch.Policy{AllowPrivate: true}, TLS: &tls.Config{RootCAs: roots}, MaxErrorBody: 1 << 20,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
		}}
}

// The proxy reads TLS with its own authority, and verifies the server itself.
func TestProxyReadsTLS(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ca")
	if _, err := fetchhttp.LoadAuthority(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "ca-key.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	authority, err := fetchhttp.LoadAuthority(dir) // in the next run
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	_, opts := secureSite(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.URL.Path, body)
	})
	recorded := make(chan string, 10)
	opts.Recorder = fetch.RecorderFunc(func(_ context.Context, req *fetch.Request) *fetch.Recording {
		recorded <- req.URL.String()
		return nil
	})
	address := serveProxy(t, &fetchhttp.Proxy{Authority: authority}, opts)
	socks, err := proxy.SOCKS5("tcp", address, nil, proxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	for name, tr := range map[string]*http.Transport{
		"CONNECT": {Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: address}), TLSClientConfig: &tls.Config{RootCAs: trusted}},
		"SOCKS5":  {DialContext: socks.(proxy.ContextDialer).DialContext, TLSClientConfig: &tls.Config{RootCAs: trusted}},
	} {
		c := &http.Client{Transport: tr}
		for range 2 { // on one connection
			resp, err := c.Post("https://example.com/a", "text/plain", strings.NewReader("hi"))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != "POST example.com /a hi" || err != nil {
				t.Errorf("%s: %q, %v", name, body, err)
			}
			if got := <-recorded; got != "https://example.com/a" {
				t.Errorf("%s: recorded %s", name, got)
			}
		}
		tr.CloseIdleConnections()
	}
	// Another protocol passes through.
	c, err := socks.Dial("tcp", "example.com:443")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Minute))
	io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
	if got, err := bufio.NewReader(c).ReadString('\n'); !strings.Contains(got, "400") {
		t.Errorf("without TLS: %q, %v", got, err)
	}
}

// Each side of a tunnel may end what it sends before the other does.
func TestTunnelsEndByHalves(t *testing.T) {
	t.Parallel()
	authority, err := fetchhttp.LoadAuthority(filepath.Join(t.TempDir(), "ca"))
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	go func() {
		for {
			c, err := far.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(5 * time.Minute))
				if first, err := io.ReadAll(c); err == nil { // up to the end of what the client sends
					fmt.Fprintf(c, "%s%s", first, strings.Repeat(" more", 100_000))
				}
			}()
		}
	}()
	for name, p := range map[string]*fetchhttp.Proxy{"passing": {}, "reading TLS": {Authority: authority}} {
		address := serveProxy(t, p, &fetch.Options{Policy: &fetch.Policy{AllowPrivate: true}})
		for _, method := range []string{"CONNECT", "SOCKS5"} {
			var c net.Conn
			var in io.Reader
			if method == "SOCKS5" {
				socks, err := proxy.SOCKS5("tcp", address, nil, proxy.Direct)
				if err != nil {
					t.Fatal(err)
				}
				if c, err = socks.Dial("tcp", far.Addr().String()); err != nil {
					t.Fatal(err)
				}
				in = c
			} else {
				if c, err = net.Dial("tcp", address); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: h\r\n\r\n", far.Addr())
				r := bufio.NewReader(c)
				if resp, err := http.ReadResponse(r, &http.Request{Method: method}); err != nil || resp.StatusCode != http.StatusOK {
					t.Fatal(err)
				}
				in = r
			}
			c.SetDeadline(time.Now().Add(5 * time.Minute))
			io.WriteString(c, "hello")
			c.(*net.TCPConn).CloseWrite()
			if got, err := io.ReadAll(in); len(got) != 500_005 || err != nil {
				t.Errorf("%s, %s: %d bytes, %v", name, method, len(got), err)
			}
			c.Close()
		}
	}
}

// WebSockets pass through a proxy that reads TLS, after it has verified the server.
func TestProxyPassesUpgrades(t *testing.T) {
	t.Parallel()
	authority, trusted := newAuthority(t)
	for name, verified := range map[string]bool{"trusted": true, "not trusted": false} {
		_, opts := secureSite(t, func(w http.ResponseWriter, r *http.Request) {
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: %s\r\nConnection: Upgrade\r\n\r\n%s ", r.Header.Get("Upgrade"), r.URL)
			io.Copy(c, rw)
		})
		if !verified {
			opts.TLS = nil
		}
		address := serveProxy(t, &fetchhttp.Proxy{Authority: authority}, opts)
		socks, err := proxy.SOCKS5("tcp", address, nil, proxy.Direct)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := socks.Dial("tcp", "example.com:443")
		if err != nil {
			t.Fatal(err)
		}
		c := tls.Client(raw, &tls.Config{RootCAs: trusted, ServerName: "example.com"})
		c.SetDeadline(time.Now().Add(5 * time.Minute))
		io.WriteString(c, "GET /chat?a HTTP/1.1\r\nHost: example.com\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nhello")
		in := bufio.NewReader(c)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !verified {
			if resp.StatusCode != http.StatusBadGateway {
				t.Errorf("%s: %s", name, resp.Status)
			}
			resp.Body.Close()
			c.Close()
			continue
		}
		resp.Body.Close()
		got := make([]byte, len("/chat?a hello"))
		if _, err := io.ReadFull(in, got); string(got) != "/chat?a hello" || err != nil || resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "echo" {
			t.Errorf("%s: %s, %q, %v", name, resp.Status, got, err)
		}
		c.CloseWrite()
		if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil && !strings.Contains(err.Error(), "EOF") {
			t.Errorf("%s: at the end: %q, %v", name, rest, err)
		}
		c.Close()
	}
}

// A server whose certificate is wrong is refused, although the client cannot see the certificate.
func TestProxyVerifiesServers(t *testing.T) {
	t.Parallel()
	authority, err := fetchhttp.LoadAuthority(filepath.Join(t.TempDir(), "ca"))
	if err != nil {
		t.Fatal(err)
	}
	_, opts := secureSite(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "reached") })
	opts.TLS = nil
	address := serveProxy(t, &fetchhttp.Proxy{Authority: authority}, opts)
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: address}), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusBadGateway || strings.Contains(string(body), "reached") {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

// An authority is refused if other users can read its key or change its directory.
func TestAuthoritiesArePrivate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ dir, key fs.FileMode }{{0o700, 0o644}, {0o700, 0o640}, {0o700, 0o602}, {0o777, 0o600}, {0o720, 0o600}, {0o755, 0o600}} {
		dir := filepath.Join(t.TempDir(), "ca")
		if _, err := fetchhttp.LoadAuthority(dir); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(filepath.Join(dir, "ca-key.pem"), tt.key), os.Chmod(dir, tt.dir)); err != nil {
			t.Fatal(err)
		}
		refused := tt != struct{ dir, key fs.FileMode }{0o755, 0o600}
		if _, err := fetchhttp.LoadAuthority(dir); refused != (err != nil && strings.Contains(err.Error(), "other users can read or change")) {
			t.Errorf("directory %04o, key %04o: %v", tt.dir, tt.key, err)
		}
	}
}

func TestAuthoritiesAreNotReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fetchhttp.LoadAuthority(dir); err == nil {
		t.Error("a broken authority was used")
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "ca.pem")); string(text) != "mine" {
		t.Errorf("the file was replaced by %q", text)
	}
}

// Clients without TLS see the pages of https.
func TestProxyDowngrades(t *testing.T) {
	t.Parallel()
	page := `<a href="https://example.com/next">x</a> https://other.example:8443/ ` + strings.Repeat(" ", 32<<10-70) + `<img src="https://img.example/i.png">` + "https:/"
	site, opts := secureSite(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Strict-Transport-Security", "max-age=1")
		h.Set("Set-Cookie", "a=b; Secure; HttpOnly")
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "https://example.com/next", http.StatusFound)
		case "/data":
			h.Set("Content-Type", "application/json")
			io.WriteString(w, `"https://example.com/"`)
		default:
			h.Set("Content-Type", "text/html")
			io.WriteString(w, page)
		}
	})
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://"+r.Host+r.RequestURI, http.StatusMovedPermanently)
	}))
	t.Cleanup(plain.Close)
	opts.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		to := site.Listener.Addr().String()
		if strings.HasSuffix(addr, ":80") {
			to = plain.Listener.Addr().String()
		}
		return (&net.Dialer{}).DialContext(ctx, network, to)
	}
	address := serveProxy(t, &fetchhttp.Proxy{Downgrade: true}, opts)
	c := through(t, address)
	get := func(u string) (*http.Response, string) {
		resp, err := c.Get(u)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
	want := strings.NewReplacer("https://example.com", "http://example.com", "https://img", "http://img").Replace(page)
	for range 2 { // first by the redirect, then from memory
		resp, body := get("http://example.com/")
		if h := resp.Header; resp.StatusCode != http.StatusOK || body != want || h.Get("Set-Cookie") != "a=b; HttpOnly" || h.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s %v, %d bytes, want %d", resp.Status, h, len(body), len(want))
		}
	}
	if resp, _ := get("http://example.com/away"); resp.Header.Get("Location") != "http://example.com/next" {
		t.Errorf("a redirect leads to %s", resp.Header.Get("Location"))
	}
	if _, body := get("http://example.com/data"); body != `"https://example.com/"` {
		t.Errorf("data has changed: %s", body)
	}
	address = serveProxy(t, &fetchhttp.Proxy{}, opts)
	c = through(t, address)
	if resp, _ := get("http://example.com/"); resp.Header.Get("Location") != "https://example.com/" {
		t.Errorf("without downgrade: %s, %s", resp.Status, resp.Header.Get("Location"))
	}
}
