package http_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// of returns a function that opens a body with text.
func of(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

// describeRequest is a handler that responds with a description of the request.
func describeRequest(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %d %v %q %v", r.Method, r.URL.Path, r.ContentLength, r.TransferEncoding, content, err)
}

func TestRequests(t *testing.T) {
	t.Parallel()
	plain := serve(t, describeRequest)
	tests := []struct {
		name string
		req  fetch.Request
		want string
	}{
		{"a known size", fetch.Request{GetBody: of("a=b"), ContentLength: 3}, `POST / 3 [] "a=b" <nil>`},
		{"an unknown size", fetch.Request{GetBody: of("a=b")}, `POST / -1 [chunked] "a=b" <nil>`},
		{"an unknown size, said so", fetch.Request{GetBody: of("a=b"), ContentLength: -1}, `POST / -1 [chunked] "a=b" <nil>`},
		{"a method alone", fetch.Request{Method: "POST"}, `POST / 0 [] "" <nil>`},
		{"DELETE", fetch.Request{Method: "DELETE"}, `DELETE / 0 [] "" <nil>`},
		{"a method of one's own", fetch.Request{Method: "FROB", GetBody: of("x"), ContentLength: 1}, `FROB / 1 [] "x" <nil>`},
		{"GET with a body", fetch.Request{Method: "GET", GetBody: of("x"), ContentLength: 1}, `GET / 1 [] "x" <nil>`},
	}
	c := newClient(t, nil, urlhttp.Options{})
	for _, tt := range tests {
		tt.req.URL = uri.MustParse(plain + "/")
		if body, _, err := drive.Do(t, c, &tt.req); body != tt.want {
			t.Errorf("%s: %s, %v", tt.name, body, err)
		}
	}
	for _, method := range []string{"HEAD", "CONNECT", "TRACE", "GET /x", "A\r\nB", "Ä", " "} {
		req := &fetch.Request{URL: uri.MustParse(plain + "/"), Method: method}
		if _, _, err := drive.Do(t, c, req); fetch.CodeOf(err) != fetch.ErrRequest {
			t.Errorf("method %q: %v", method, err)
		}
		if _, err := c.Explain(req); fetch.CodeOf(err) != fetch.ErrRequest {
			t.Errorf("explain method %q: %v", method, err)
		}
	}
	x, err := c.Explain(&fetch.Request{URL: uri.MustParse(plain + "/"), GetBody: of("a=b"), ContentLength: 3})
	if err != nil || x.Steps[0] != "POST / HTTP/1.1" || !slices.Contains(x.Steps, "Content-Length: 3") {
		t.Errorf("explained as %q, %v", x.Steps, err)
	}
}

// redirecting is a handler that redirects /CODE to /end, where it describes the request.
func redirecting(w http.ResponseWriter, r *http.Request) {
	var status int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err != nil {
		describeRequest(w, r)
		return
	}
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Location", "/end")
	w.WriteHeader(status)
}

func TestRedirectedUploads(t *testing.T) {
	t.Parallel()
	u := serve(t, redirecting)
	c := newClient(t, nil, urlhttp.Options{})
	for status, want := range map[int]string{
		300: `GET /end 0 [] "" <nil>`, 301: `GET /end 0 [] "" <nil>`, 302: `GET /end 0 [] "" <nil>`, 303: `GET /end 0 [] "" <nil>`,
		307: `POST /end 3 [] "a=b" <nil>`, 308: `POST /end 3 [] "a=b" <nil>`,
	} {
		req := &fetch.Request{URL: uri.MustParse(fmt.Sprintf("%s/%d", u, status)), GetBody: of("a=b"), ContentLength: 3}
		if body, _, err := drive.Do(t, c, req); body != want {
			t.Errorf("%d: %s, %v", status, body, err)
		}
		req = &fetch.Request{URL: req.URL, Method: "PUT", GetBody: of("a=b"), ContentLength: 3}
		want = `PUT /end 3 [] "a=b" <nil>`
		if status == 303 {
			want = `GET /end 0 [] "" <nil>`
		}
		if body, _, err := drive.Do(t, c, req); body != want {
			t.Errorf("%d of a PUT: %s, %v", status, body, err)
		}
		if status < 307 {
			continue
		}
		req = &fetch.Request{URL: req.URL, Body: io.NopCloser(strings.NewReader("a=b"))}
		if _, _, err := drive.Do(t, c, req); fetch.CodeOf(err) != fetch.ErrRedirect {
			t.Errorf("%d with what can be sent but once: %v", status, err)
		}
	}
}

func TestLoginsAndBodies(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{`Basic realm="x"`, `Digest realm="x", nonce="n", qop="auth-int", algorithm=SHA-256`} {
		u := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				w.Header().Set("WWW-Authenticate", scheme)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			describeRequest(w, r)
		})
		u = strings.Replace(u, "//", "//joe:secret@", 1)
		c := newClient(t, nil, urlhttp.Options{})
		body, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(u + "/"), GetBody: of("a=b"), ContentLength: 3})
		if body != `POST / 3 [] "a=b" <nil>` {
			t.Errorf("%s: %s, %v", scheme, body, err)
		}
		c = newClient(t, nil, urlhttp.Options{})
		_, _, err = drive.Do(t, c, &fetch.Request{URL: uri.MustParse(u + "/"), Body: io.NopCloser(strings.NewReader("a=b"))})
		if fetch.CodeOf(err) != fetch.ErrAuth || !strings.Contains(err.Error(), "sent only once") {
			t.Errorf("%s, once: %v", scheme, err)
		}
	}
}

// TestNonIdempotentRequestsAreNotRetried checks that a request with unknown outcome is not repeated
// unless it is idempotent.
func TestNonIdempotentRequestsAreNotRetried(t *testing.T) {
	t.Parallel()
	breaks := respondWith(t, func(net.Conn) {})
	cut := raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", false)
	busy := raw(t, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", false)
	tests := []struct {
		url, method string
		retry       bool
	}{
		{breaks, "GET", true}, {breaks, "PUT", true}, {breaks, "POST", false}, {breaks, "PATCH", false},
		{cut, "GET", true}, {cut, "POST", false},
		{busy, "POST", true},
	}
	c := newClient(t, nil, urlhttp.Options{})
	for _, tt := range tests {
		_, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(tt.url + "/"), Method: tt.method})
		if e := asError(t, err); e.Retry != tt.retry {
			t.Errorf("%s %s: retry %v: %v", tt.method, tt.url, e.Retry, err)
		}
	}
	c = newClient(t, &fetch.Options{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNRESET}
	}}, urlhttp.Options{})
	_, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse("http://127.0.0.1/"), Method: "POST"})
	if e := asError(t, err); !e.Retry {
		t.Errorf("nothing was sent, and there is to be no other try: %v", err)
	}
}

// A slowBody returns one byte per tick.
type slowBody struct {
	*time.Ticker
	left int
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	b.left--
	<-b.C
	p[0] = 'x'
	return 1, nil
}

func (b *slowBody) Close() error {
	b.Stop()
	return nil
}

// TestSlowUploads checks that the reply timeout begins after the body was sent.
func TestSlowUploads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 2 * time.Second
		n := newMemoryNetwork()
		u := startServer(t, &httptest.Server{Listener: n, Config: &http.Server{Handler: http.HandlerFunc(describeRequest)}}, "").URL
		c := newClient(t, n.options(fetch.Options{Timeouts: fetch.Timeouts{Reply: limit, Idle: limit}}), urlhttp.Options{})
		body := &slowBody{time.NewTicker(limit / 2), 25}
		if got, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(u + "/"), Body: body}); !strings.Contains(got, strings.Repeat("x", 25)) {
			t.Errorf("%s, %v", got, err)
		}
		silent := newMemoryNetwork()
		silent.serve(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
		c = newClient(t, silent.options(fetch.Options{Timeouts: fetch.Timeouts{Reply: limit / 10, Idle: limit}}), urlhttp.Options{})
		_, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse("http://127.0.0.1/"), GetBody: of("x"), ContentLength: 1})
		if fetch.CodeOf(err) != fetch.ErrNetwork || !strings.Contains(err.Error(), "no complete response") {
			t.Errorf("a server that is silent: %v", err)
		}
	})
}

// TestCrossSiteCookies checks that unsafe requests by other origins have no cookies.
func TestCrossSiteCookies(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	victim := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Method+" "+r.Header.Get("Cookie"))
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
	})
	attacker := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Location", strings.Replace(victim, "127.0.0.1", "localhost", 1)+"/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	victim = strings.Replace(victim, "127.0.0.1", "localhost", 1)
	c := newClient(t, nil, urlhttp.Options{})
	for _, req := range []*fetch.Request{
		{URL: uri.MustParse(victim + "/")},
		{URL: uri.MustParse(victim + "/"), GetBody: of("x")},
		{URL: uri.MustParse(attacker + "/")},
		{URL: uri.MustParse(attacker + "/"), GetBody: of("x"), Header: textproto.MIMEHeader{"Cookie": {"own=1"}}},
	} {
		if _, _, err := drive.Do(t, c, req); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"GET ", "POST id=1", "GET id=1", "POST "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFailingUploads checks that an error of the body is reported and that the upload looks
// incomplete.
func TestFailingUploads(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"", "h2"} {
		srv := newServer(t, http.HandlerFunc(describeRequest), proto)
		c := newClient(t, &fetch.Options{TLS: trust(srv)}, urlhttp.Options{})
		u := uri.MustParse(srv.URL + "/")
		broken := io.NopCloser(io.MultiReader(strings.NewReader("abc"), errReader{}))
		if _, _, err := drive.Do(t, c, &fetch.Request{URL: u, Body: broken}); !errors.Is(err, errDisk) || fetch.CodeOf(err) != fetch.ErrFile {
			t.Errorf("%s: a body that breaks: class %s, %v", proto, fetch.CodeOf(err), err)
		}
		for _, size := range []int64{2, 5} {
			if proto == "" && size == 2 {
				continue // net/http detects this after the last byte, when the response may have arrived
			}
			_, _, err := drive.Do(t, c, &fetch.Request{URL: u, GetBody: of("abc"), ContentLength: size})
			if e := (*fetch.Error)(nil); !errors.As(err, &e) || e.Code != fetch.ErrRequest || e.Retry {
				t.Errorf("%s: a body of 3 bytes that was announced as %d: class %s, %v", proto, size, fetch.CodeOf(err), err)
			}
		}
	}
}

var errDisk = errors.New("disk on fire")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errDisk }
