package fetchhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/proxy"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
	fetchweb "github.com/urlget/urlget/protocols/http"
)

// startProxy starts a proxy with the test's driver and http, and returns its address.
func startProxy(t *testing.T, allowPrivate bool) string {
	t.Helper()
	return serveProxy(t, &fetchhttp.Proxy{}, &fetch.Options{Policy: &fetch.Policy{AllowPrivate: allowPrivate}, MaxErrorBody: 1 << 20})
}

// serveProxy serves a proxy whose client has these options and additional drivers, and returns its
// address.
func serveProxy(t *testing.T, p *fetchhttp.Proxy, opts *fetch.Options, load ...fetch.Loader) string {
	t.Helper()
	opts.NoProxy = "*"
	tunnels := *opts
	policy := *opts.Policy
	policy.AllowSessions = true
	tunnels.Policy = &policy
	p.Client = fetch.New(opts, append(load, fetch.Use("x-thing", fetch.DriverFunc(things)), fetchweb.Load)...)
	p.Tunnels = fetch.New(&tunnels, fetchhttp.LoadTunnel)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		p.Client.Close()
		p.Tunnels.Close()
	})
	return l.Addr().String()
}

// through returns an HTTP client that uses the proxy and does not follow redirects.
func through(t *testing.T, address string) *http.Client {
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: address})}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// raw sends a request as it is and returns the response until the proxy closes the connection.
func raw(t *testing.T, address, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Minute))
	io.WriteString(c, request)
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestProxyForwardsHTTP checks what reaches an HTTP server and what comes back.
func TestProxyForwardsHTTP(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Kept", "yes")
			fmt.Fprintf(w, "%s %s %q cookie %s range %s proxy %q", r.Method, r.URL.RawQuery, body, r.Header.Get("Cookie"), r.Header.Get("Range"),
				r.Header.Get("Proxy-Authorization")+r.Header.Get("Proxy-Connection"))
		case "/moved":
			w.Header().Set("Set-Cookie", "a=b")
			http.Redirect(w, r, "/echo?moved", http.StatusFound)
		case "/login":
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			http.Error(w, "log in", http.StatusUnauthorized)
		default:
			http.Error(w, strings.Repeat("nothing here ", 1000), http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	c := through(t, startProxy(t, true))
	for _, tt := range []struct {
		method, path, body string
		header             map[string]string
		status             int
		want               string
		fields             map[string]string
	}{
		{"GET", "/echo?q=1", "", map[string]string{"Cookie": "c=d"}, 200, `GET q=1 "" cookie c=d range  proxy ""`, map[string]string{"X-Kept": "yes", "Via": "1.1 urlget"}},
		{"GET", "/echo", "", map[string]string{"Range": "bytes=0-,5-6"}, 200, `range bytes=0-,5-6`, nil},
		{"POST", "/echo", "a body", nil, 200, `POST  "a body"`, nil},
		{"GET", "/echo", "a body", nil, 200, `GET  "a body"`, nil},
		{"DELETE", "/echo", "", nil, 200, `DELETE  ""`, nil},
		{"HEAD", "/echo", "", nil, 200, ``, map[string]string{"X-Kept": "yes"}},
		{"GET", "/moved", "", nil, 302, ``, map[string]string{"Location": "/echo?moved", "Set-Cookie": "a=b"}},
		{"GET", "/login", "", nil, 401, `log in`, map[string]string{"Www-Authenticate": `Basic realm="x"`}},
		{"GET", "/none", "", nil, 404, strings.Repeat("nothing here ", 1000), nil},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range tt.header {
			r.Header.Set(k, v)
		}
		r.Header.Set("Proxy-Authorization", "Basic c2VjcmV0")
		resp, err := c.Do(r)
		if err != nil {
			t.Errorf("%s %s: %v", tt.method, tt.path, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s %s: %s, %.300q, %v", tt.method, tt.path, resp.Status, body, err)
		}
		for k, v := range tt.fields {
			if got := resp.Header.Get(k); got != v {
				t.Errorf("%s %s: %s is %q, want %q", tt.method, tt.path, k, got, v)
			}
		}
	}
}

// TestProxyServesSchemes asks for resources of another scheme, as old clients do.
func TestProxyServesSchemes(t *testing.T) {
	t.Parallel()
	address := startProxy(t, false)
	for request, want := range map[string][]string{
		"GET x-thing://h/text HTTP/1.0\r\n\r\n":                                         {"HTTP/1.0 200 OK", "Content-Length: 10", "0123456789"},
		"HEAD x-thing://h/text HTTP/1.0\r\n\r\n":                                        {"HTTP/1.0 200 OK", "Content-Length: 10"},
		"GET x-thing://h/text HTTP/1.0\r\nRange: bytes=2-4\r\n\r\n":                     {"206", "234"},
		"GET x-thing://h/menu/ HTTP/1.0\r\n\r\n":                                        {"text/html", `<a href="x-thing://h/menu/one%22?a&amp;b">&lt;b&gt;one</a>`},
		"GET http://" + address + "/x-thing/h/menu/ HTTP/1.0\r\n\r\n":                   {`<a href="/x-thing/h/menu/one%22?a&amp;b">`},
		"GET /x-thing/h/text HTTP/1.0\r\n\r\n":                                          {"0123456789"},
		"GET /x-thing/h/text HTTP/1.0\r\nHost: evil.example\r\n\r\n":                    {"421", "unknown host name"},
		"GET /x-thing/h/text HTTP/1.0\r\nHost: localhost:" + port(address) + "\r\n\r\n": {"0123456789"},
		"GET x-thing://h/absent HTTP/1.0\r\n\r\n":                                       {"404", "not found"},
		"GET x-thing://h/broken HTTP/1.0\r\n\r\n":                                       {"502", "protocol violation"},
		"POST x-thing://h/text HTTP/1.0\r\nContent-Length: 1\r\n\r\nx":                  {"405", "only GET and HEAD"},
		"GET x-other://h/text HTTP/1.0\r\n\r\n":                                         {"502", "not registered"},
		"GET http://h\x01/ HTTP/1.0\r\n\r\n":                                            {"400"},
		"GET x-thing://127.0.0.1/text HTTP/1.0\r\n\r\n":                                 {"403", "private address"},
		"GET http://127.0.0.1/text HTTP/1.0\r\n\r\n":                                    {"403", "private address"},
		"GET http://[::ffff:127.0.0.1]/ HTTP/1.0\r\n\r\n":                               {"403", "private address"},
		"GET http://[64:ff9b::7f00:1]/ HTTP/1.0\r\n\r\n":                                {"403", "private address"},
		"GET http://localhost:" + port(address) + "/ HTTP/1.0\r\n\r\n":                  {"403", "private address"},
		"GET http://h:25/ HTTP/1.0\r\n\r\n":                                             {"403", "port 25"},
		"CONNECT 127.0.0.1:443 HTTP/1.0\r\n\r\n":                                        {"403", "private address"},
		"CONNECT localhost:443 HTTP/1.0\r\n\r\n":                                        {"403", "private address"},
		"CONNECT h:25 HTTP/1.0\r\n\r\n":                                                 {"403", "port 25"},
		"CONNECT h HTTP/1.0\r\n\r\n":                                                    {"400"},
		"GET file:///etc/passwd HTTP/1.0\r\n\r\n":                                       {"400", "no host"},
		"GET x-tunnel://127.0.0.1 HTTP/1.0\r\n\r\n":                                     {"403", "private address"},
	} {
		got := raw(t, address, request)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%q: no %q in %q", request, w, got)
			}
		}
	}
}

func port(address string) string {
	_, p, _ := net.SplitHostPort(address)
	return p
}

// TestProxyTunnels opens connections with CONNECT and SOCKS5.
func TestProxyTunnels(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "over TLS") }))
	t.Cleanup(s.Close)
	address := startProxy(t, true)
	socks, err := proxy.SOCKS5("tcp", address, nil, proxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*http.Transport){
		"CONNECT": func(tr *http.Transport) { tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: address}) },
		"SOCKS5":  func(tr *http.Transport) { tr.DialContext = socks.(proxy.ContextDialer).DialContext },
	} {
		tr := s.Client().Transport.(*http.Transport).Clone()
		change(tr)
		resp, err := (&http.Client{Transport: tr}).Get(s.URL)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		tr.CloseIdleConnections()
		if string(body) != "over TLS" || err != nil {
			t.Errorf("%s: %q, %v", name, body, err)
		}
	}
}

// TestSOCKSRequests sends requests byte by byte. The answer to each is a status, or none.
func TestSOCKSRequests(t *testing.T) {
	t.Parallel()
	address := startProxy(t, false)
	for request, want := range map[string]string{
		"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb": "\x05\x00\x05\x02", // a private address
		"\x05\x01\x00\x05\x01\x00\x03\x09localhost\x01\xbb":    "\x05\x00\x05\x02",
		"\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x01\xbb": "\x05\x00\x05\x07", // BIND
		"\x05\x01\x00\x05\x01\x00\x09\x7f\x00\x00\x01\x01\xbb": "\x05\x00\x05\x08",
		"\x05\x01\x02":                 "\x05\xff", // a login
		"\x05\x00":                     "\x05\xff",
		"\x05\x01\x00\x04\x01\x00\x01": "\x05\x00",
		"\x05\x01\x00\x05\x01\x00\x03\x05a/b@c\x01\xbb": "\x05\x00\x05\x01",
	} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(5 * time.Minute))
		for i := range len(request) {
			c.Write([]byte{request[i]})
		}
		c.(*net.TCPConn).CloseWrite()
		got, _ := io.ReadAll(bufio.NewReader(c))
		c.Close()
		if !strings.HasPrefix(string(got), want) || len(want) < 4 && len(got) != len(want) {
			t.Errorf("%q: %q, want %q", request, got, want)
		}
	}
}
