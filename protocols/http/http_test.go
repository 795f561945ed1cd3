package http_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/httpd"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startTree starts a server of one of the protocols: "" for plaintext HTTP/1.1, "http/1.1" and "h2"
// over TLS.
func startTree(t testing.TB, tree fs.FS, proto string, o *fetch.Options) fetchtest.Site {
	h := httpd.New(tree)
	all := newDAVServer(h, tree)
	srv := newServer(t, all, proto)
	t.Cleanup(h.Close)
	o.TLS = trust(srv)
	return fetchtest.Site{
		Load: urlhttp.Load,
		URL: func(name string) string {
			if info, err := fs.Stat(tree, name); err == nil && info.IsDir() || name == "no-such-directory" {
				name += "/"
			}
			return srv.URL + "/" + strings.ReplaceAll(uri.Escape(name), "%2F", "/")
		},
		Log:     all.Log,
		Fault:   h.Fail,
		Escaped: true,
	}
}

func newServer(t testing.TB, h http.Handler, proto string) *httptest.Server {
	t.Helper()
	return startServer(t, httptest.NewUnstartedServer(h), proto)
}

func startServer(t testing.TB, srv *httptest.Server, proto string) *httptest.Server {
	t.Helper()
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	switch proto {
	case "":
		srv.Start()
	case "h2":
		srv.EnableHTTP2 = true
		srv.StartTLS()
	default:
		srv.StartTLS()
	}
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}

// trust returns a configuration for the server's certificate; nil if it has none.
func trust(srv *httptest.Server) *tls.Config {
	if srv.Certificate() == nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"", "http/1.1", "h2"} {
		t.Run("over "+strings.TrimPrefix(proto+", plaintext", ", "), func(t *testing.T) {
			t.Parallel()
			h := fetchtest.Harness{Options: &fetch.Options{}}
			h.Start = func(t testing.TB, tree fs.FS) fetchtest.Site { return startTree(t, tree, proto, h.Options) }
			if proto == "h2" {
				h.Skip = map[string]string{"Noise": "the server has no connection of its own for a stream"}
			}
			fetchtest.Run(t, h)
		})
	}
}

// newClient makes a client for servers on loopback.
func newClient(t testing.TB, o *fetch.Options, opts urlhttp.Options) *fetch.Client {
	t.Helper()
	c := drive.Client(t, o, urlhttp.With(opts))
	return c
}

// serve starts a server without TLS.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	return newServer(t, h, "").URL
}

// raw starts a server that reads each request up to the blank line, sends bytes, and closes the
// connection unless hold is set.
func raw(t testing.TB, answer string, hold bool) string {
	t.Helper()
	return respondWith(t, func(conn net.Conn) {
		io.WriteString(conn, answer)
		if hold {
			io.Copy(io.Discard, conn)
		}
	})
}

// respondWith starts a server that calls answer for each connection after the blank line of a
// request. The connection is closed afterwards.
func respondWith(t testing.TB, answer func(net.Conn)) string {
	t.Helper()
	return serveConns(t, func(conn net.Conn) {
		if readRequest(conn) {
			answer(conn)
		}
	})
}

func readRequest(conn net.Conn) bool {
	_, err := http.ReadRequest(bufio.NewReader(conn))
	return err == nil
}

// serveConns starts a server that calls serve for each connection and closes it afterwards.
func serveConns(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	return servers.Start(t, servers.Config{Scheme: "http"}, func(c *servers.Conn) { serve(c.NetConn()) }).URL
}

// asError returns the *fetch.Error that err must be.
func asError(t testing.TB, err error) *fetch.Error {
	t.Helper()
	var e *fetch.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v of type %T, want *fetch.Error", err, err)
	}
	return e
}

func TestRequestFields(t *testing.T) {
	t.Parallel()
	var got *http.Request
	u := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r })
	c := newClient(t, &fetch.Options{Identity: fetch.Identity{UserAgent: "me/1"}}, urlhttp.Options{})
	tests := []struct {
		name string
		req  fetch.Request
		want map[string]string
	}{
		{"defaults", fetch.Request{}, map[string]string{"User-Agent": "me/1", "Accept": "*/*", "Accept-Encoding": "identity", "Referer": "", "Range": ""}},
		{"ranked types", fetch.Request{Accept: []string{"text/html", "text/plain", "image/png"}},
			map[string]string{"Accept": "text/html, text/plain;q=0.9, image/png;q=0.8, */*;q=0.1"}},
		{"caller's own", fetch.Request{Header: map[string][]string{"user-agent": {"x"}, "Accept": {"a/b"}, "X-Y": {"z"}}},
			map[string]string{"User-Agent": "x", "Accept": "a/b", "X-Y": "z"}},
		{"from here", fetch.Request{From: uri.MustParse(u + "/page?x#y")}, map[string]string{"Referer": u + "/page?x"}},
		{"from here with a login", fetch.Request{From: uri.MustParse(strings.Replace(u, "//", "//me:pw@", 1) + "/page")},
			map[string]string{"Referer": u + "/page"}},
		{"from elsewhere", fetch.Request{From: uri.MustParse("http://localhost/page")}, map[string]string{"Referer": ""}},
		{"from https", fetch.Request{From: uri.MustParse(strings.Replace(u, "http:", "https:", 1) + "/page")}, map[string]string{"Referer": ""}},
		{"range", fetch.Request{Range: fetch.Range{Offset: 5, Length: 3}}, map[string]string{"Range": "bytes=5-7", "If-Range": ""}},
		{"open range", fetch.Request{Range: fetch.Range{Offset: 5}}, map[string]string{"Range": "bytes=5-"}},
		{"guarded range", fetch.Request{Range: fetch.Range{Offset: 5}, IfChanged: fetch.Validator{ETag: `"t"`, ModTime: time.Unix(1, 0)}},
			map[string]string{"Range": "bytes=5-", "If-Range": `"t"`}},
		{"range guarded by time", fetch.Request{Range: fetch.Range{Offset: 5}, IfChanged: fetch.Validator{ModTime: time.Unix(1, 0)}},
			map[string]string{"Range": "bytes=5-", "If-Range": "Thu, 01 Jan 1970 00:00:01 GMT"}},
		{"range guarded weakly", fetch.Request{Range: fetch.Range{Offset: 5}, IfChanged: fetch.Validator{ETag: `W/"t"`, ModTime: time.Unix(1, 0)}},
			map[string]string{"Range": "", "If-Range": ""}},
		{"conditional", fetch.Request{IfChanged: fetch.Validator{ETag: `W/"t"`, ModTime: time.Unix(1, 0)}},
			map[string]string{"If-None-Match": `W/"t"`, "If-Modified-Since": "Thu, 01 Jan 1970 00:00:01 GMT"}},
	}
	for _, tt := range tests {
		tt.req.URL = uri.MustParse(u + "/x")
		if _, _, err := drive.Do(t, c, &tt.req); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for k, v := range tt.want {
			if got.Header.Get(k) != v {
				t.Errorf("%s: %s is %q, want %q", tt.name, k, got.Header.Get(k), v)
			}
		}
	}
}

func TestInvalidFields(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("something was sent") })
	for _, h := range []map[string][]string{
		{"X": {"a\r\nY: b"}}, {"X": {"a\nb"}}, {"X": {"a\x00b"}}, {"X\r\nY": {"a"}}, {"X Y": {"a"}}, {"": {"a"}}, {"X": {}},
		{"Range": {"bytes=0-1"}}, {"transfer-encoding": {"chunked"}}, {"Content-Length": {"5"}}, {"Host": {"a b"}},
	} {
		_, _, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(u), Header: h})
		if fetch.CodeOf(err) != fetch.ErrRequest || strings.ContainsAny(err.Error(), "\r\n\x00") {
			t.Errorf("%q: %v", h, err)
		}
	}
}

// TestPathAsWritten checks that the path is sent unchanged.
func TestPathAsWritten(t *testing.T) {
	t.Parallel()
	var got string
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.RequestURI })
	for _, proto := range []string{"", "http/1.1", "h2"} {
		srv := newServer(t, h, proto)
		c := newClient(t, &fetch.Options{TLS: trust(srv)}, urlhttp.Options{})
		for _, path := range []string{"/", "/a%2Fb", "/%7Ea/~a", "/a;b=c/d", "/a?b?c", "/?", "/a%20b?c%0D%0Ad", "//a//b/", "/a/./b/../c", "/a|b?c|d"} {
			drive.MustGet(t, c, srv.URL+path+"#frag")
			if got != path { // never the absolute form (RFC 9112, section 3.2.1)
				t.Errorf("%s: the server got %s", path, got)
			}
		}
	}
}

func TestProtocolVersion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		opts   urlhttp.Options
		server []string // offered over TLS
		want   string   // "" for a failure
	}{
		{urlhttp.Options{}, []string{"h2", "http/1.1"}, "HTTP/2.0"},
		{urlhttp.Options{}, []string{"http/1.1"}, "HTTP/1.1"},
		{urlhttp.Options{Protocols: urlhttp.HTTP1}, []string{"h2", "http/1.1"}, "HTTP/1.1"},
		{urlhttp.Options{Protocols: urlhttp.HTTP1}, []string{"h2"}, ""},
		{urlhttp.Options{Protocols: urlhttp.HTTP2}, []string{"h2", "http/1.1"}, "HTTP/2.0"},
		{urlhttp.Options{Protocols: urlhttp.HTTP2}, []string{"http/1.1"}, ""},
		{urlhttp.Options{Protocols: urlhttp.HTTP1 | urlhttp.HTTP2}, []string{"h2", "http/1.1"}, "HTTP/2.0"},
		{urlhttp.Options{Protocols: urlhttp.HTTP3}, []string{"http/1.1"}, "HTTP/1.1"}, // without QUIC
		{urlhttp.Options{Single: true}, []string{"h2", "http/1.1"}, "HTTP/1.1"},
		{urlhttp.Options{Single: true}, []string{"h2"}, "HTTP/2.0"},
		{urlhttp.Options{Single: true, Protocols: urlhttp.HTTP2}, []string{"h2", "http/1.1"}, "HTTP/2.0"},
	} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.EnableHTTP2 = tt.server[0] == "h2"
		srv.TLS = &tls.Config{NextProtos: tt.server, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			for _, offered := range hello.SupportedProtos {
				if slices.Contains(tt.server, offered) {
					return nil, nil
				}
			}
			strict := srv.TLS.Clone() // crypto/tls accepts a client that offers HTTP/1.1 to a server of HTTP/2
			strict.NextProtos = []string{"none of these"}
			return strict, nil
		}}
		srv.StartTLS()
		t.Cleanup(srv.Close)
		if got, err := drive.Get(t, newClient(t, &fetch.Options{TLS: trust(srv)}, tt.opts), srv.URL); got != tt.want || (err == nil) != (tt.want != "") || err != nil && !errors.Is(err, fetch.ErrTLS) {
			t.Errorf("%+v, server with %q: %q, %v; want %q", tt.opts, tt.server, got, err, tt.want)
		}
	}
}

func TestUntrustedServer(t *testing.T) {
	t.Parallel()
	srv := newServer(t, http.NotFoundHandler(), "h2")
	drive.Fails(t, newClient(t, nil, urlhttp.Options{}), srv.URL, fetch.ErrTLS)
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	drive.Fails(t, newClient(t, nil, urlhttp.Options{}), strings.Replace(plain, "http", "https", 1), fetch.ErrTLS) // TLS to a server without
}

// TestClientCertificateWanted checks a server that requires a client certificate. In TLS 1.3 it
// refuses the client after the handshake.
func TestClientCertificateWanted(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	drive.Fails(t, newClient(t, &fetch.Options{TLS: trust(srv)}, urlhttp.Options{}), srv.URL, fetch.ErrTLS)
}

// TestStreamReset checks an HTTP/2 server that resets a stream before the response.
func TestStreamReset(t *testing.T) {
	t.Parallel()
	srv := newServer(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "h2")
	_, err := drive.Get(t, newClient(t, &fetch.Options{TLS: trust(srv)}, urlhttp.Options{}), srv.URL)
	if e := asError(t, err); e.Code != fetch.ErrNetwork || !e.Retry {
		t.Errorf("%v (retry %v), want ErrNetwork, retry", err, e.Retry)
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/x; a=b")
		h.Set("Etag", `"t"`)
		h.Set("Last-Modified", "Tue, 15 Nov 1994 12:45:26 GMT")
		h.Set("Content-Disposition", `attachment; filename="../n.txt"`)
		h.Set("X-Own", "1")
		io.WriteString(w, "content")
	})
	c := newClient(t, nil, urlhttp.Options{})
	_, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(u + "/a")})
	if err != nil {
		t.Fatal(err)
	}
	stat, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(u + "/a")})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []fetch.Meta{resp.Meta, stat.Meta} {
		if m.ContentType != "text/x; a=b" || m.ETag != `"t"` || m.ModTime.Unix() != 784903526 || m.Name != "n.txt" ||
			m.Reply != (fetch.Reply{Code: 200, Text: "OK"}) || m.Header.Get("X-Own") != "1" || m.Size != 7 && m.Size != -1 {
			t.Errorf("%+v", m)
		}
	}
	if resp.URL.String() != u+"/a" {
		t.Errorf("final URL %s", resp.URL)
	}
}

func TestStatWithoutHead(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusForbidden} {
		u := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(status)
				return
			}
			io.WriteString(w, "four")
		})
		m, err := newClient(t, nil, urlhttp.Options{}).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(u)})
		if err != nil || m.Size != 4 {
			t.Errorf("%d: %+v, %v", status, m, err)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil, urlhttp.Options{})
	x, err := c.Explain(&fetch.Request{URL: uri.MustParse("http://u:pw@h.example:8080/a?b"), Op: fetch.OpGet,
		Header: map[string][]string{"Authorization": {"Bearer abcdef"}, "Cookie": {"sid=abcdef"}, "X-Api-Key": {"abcdef"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(x.Steps, "\n")
	want := "GET /a?b HTTP/1.1\nHost: h.example:8080\nAccept: */*\nAccept-Encoding: identity\nAuthorization: Bearer xxxxx\n" +
		"Cookie: sid=xxxxx\nUser-Agent: urlget\nX-Api-Key: xxxxx"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestExplainForwarded checks that the steps of a URL that a proxy retrieves are those with the proxy.
func TestExplainForwarded(t *testing.T) {
	t.Parallel()
	proxy := func(uri.URI) (uri.URI, error) { return uri.MustParse("http://joe:secret@proxy.example:3128"), nil }
	others := func(_ fetch.Env, reg *fetch.Registry) {
		for _, name := range []string{"ftp", "gopher"} {
			reg.Register(fetch.Scheme{Name: name, Port: 21, Ops: []fetch.Op{fetch.OpGet}, ForwardProxy: true,
				Driver: fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, fetch.ErrRefused })})
		}
	}
	c := fetch.New(&fetch.Options{Proxy: proxy}, urlhttp.Load, others)
	for _, tt := range []struct{ url, first, address string }{
		{"http://h.example/a?b", "GET http://h.example/a?b HTTP/1.1", ""},
		{"ftp://h.example/a#x", "GET ftp://h.example/a HTTP/1.1", ""},
		{"ftp://u:secret@h.example:2121/a", "GET ftp://u:xxxxx@h.example:2121/a HTTP/1.1", ""},
		{"gopher://h.example/1/a", "GET gopher://h.example/1/a HTTP/1.1", ""},
		{"https://h.example/a", "GET /a HTTP/1.1", "h.example:443"},
	} {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(tt.url)})
		if err != nil || x.Address != tt.address || len(x.Steps) == 0 || x.Steps[0] != tt.first || x.Expected != nil ||
			strings.Contains(strings.Join(x.Steps, "\n"), "secret") {
			t.Errorf("%s: %+v, %v", tt.url, x, err)
		}
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "sid=s3cret")
		w.Header().Set("X-Subject-Token", "s3cret")
		w.Header().Set("Location", "http://u:s3cret@other.example/")
		io.WriteString(w, "x")
	})
	var mu sync.Mutex
	var lines []string
	c := newClient(t, &fetch.Options{Recorder: fetch.RecordLines(func(sent bool, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, map[bool]string{true: "> ", false: "< "}[sent]+line)
	})}, urlhttp.Options{})
	req := &fetch.Request{URL: uri.MustParse(u + "/a"), Header: map[string][]string{
		"Authorization": {"Basic s3cret"}, "X-Api-Key": {"s3cret"}, "Private-Token": {"s3cret"}, "X-Auth-Token": {"s3cret"}}}
	for range 2 {
		if _, _, err := drive.Do(t, c, req); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(lines, "\n")
	for _, want := range []string{"> GET /a HTTP/1.1", "> Authorization: Basic xxxxx", "> Cookie: sid=xxxxx", "> X-Api-Key: xxxxx", "> Private-Token: xxxxx", "> X-Auth-Token: xxxxx",
		"< HTTP/1.1 200 OK", "< X-Subject-Token: xxxxx",
		"< Set-Cookie: sid=xxxxx", "< Location: http://u:xxxxx@other.example/"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if strings.Contains(all, "s3cret") {
		t.Errorf("a secret shows in\n%s", all)
	}
}

func TestCookies(t *testing.T) {
	t.Parallel()
	var got []string
	mux := http.NewServeMux()
	mux.HandleFunc("/set", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1", Path: "/"})
		http.Redirect(w, r, "/read", http.StatusFound)
	})
	mux.HandleFunc("/read", func(w http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("Cookie")) })
	u := serve(t, mux.ServeHTTP)
	other, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, nil, urlhttp.Options{})
	for _, rawURL := range []string{u + "/set", u + "/read", "http://localhost:" + other.Port() + "/read"} {
		drive.MustGet(t, c, rawURL)
	}
	drive.MustGet(t, newClient(t, nil, urlhttp.Options{}), u+"/read")
	if strings.Join(got, "|") != "a=1|a=1||" {
		t.Errorf("cookies sent: %q, want them on the host that set them, by the client that got them", got)
	}
}
