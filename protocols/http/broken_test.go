package http_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestBrokenServers checks responses that are malformed, truncated or endless.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	tests := []struct {
		name, answer string
		code         fetch.Code
		retry        bool
	}{
		{"no answer", "", fetch.ErrNetwork, true},
		{"half a status line", "HTTP/1.1 20", fetch.ErrProtocol, false},
		{"half a header", ok + "Content-Le", fetch.ErrProtocol, false},
		{"short body", ok + "Content-Length: 10\r\n\r\nabc", fetch.ErrTruncated, true},
		{"chunk cut off", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nab", fetch.ErrTruncated, true},
		{"last chunk missing", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", fetch.ErrTruncated, true},
		{"trailer cut off", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n", fetch.ErrTruncated, true},
		{"trailer cut off in a line", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: y", fetch.ErrTruncated, true},
		{"trailer cut off after a line", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: y\r\n", fetch.ErrTruncated, true},
		{"trailer cut off after a malformed line", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nnonsense\n", fetch.ErrTruncated, true},
		{"HTTP/1.0, chunk cut off", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", fetch.ErrTruncated, true},
		{"HTTP/1.0, unknown transfer coding", "HTTP/1.0 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab", fetch.ErrProtocol, false},
		{"malformed chunk", ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n", fetch.ErrProtocol, true},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", fetch.ErrProtocol, false},
		{"status is no number", "HTTP/1.1 2x0 OK\r\n\r\n", fetch.ErrProtocol, false},
		{"status has two digits", "HTTP/1.1 20 OK\r\n\r\n", fetch.ErrProtocol, false},
		{"status below 100", "HTTP/1.1 099 What\r\nContent-Length: 0\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n", fetch.ErrProtocol, false},
		{"undefined status", "HTTP/1.1 700 What\r\nContent-Length: 0\r\n\r\n", fetch.ErrProtocol, false},
		{"other protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", fetch.ErrProtocol, false},
		{"field without a name", ok + ": x\r\n\r\n", fetch.ErrProtocol, false},
		{"line without a colon", ok + "nonsense\r\n\r\n", fetch.ErrProtocol, false},
		{"two lengths", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", fetch.ErrProtocol, false},
		{"negative length", ok + "Content-Length: -1\r\n\r\nab", fetch.ErrProtocol, false},
		{"length of more than 63 bits", ok + "Content-Length: 99999999999999999999\r\n\r\nab", fetch.ErrProtocol, false},
		{"unknown transfer coding", ok + "Transfer-Encoding: gzip\r\n\r\nab", fetch.ErrProtocol, false},
		{"identity twice", ok + "Transfer-Encoding: identity\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab", fetch.ErrProtocol, false},
		{"identity and another coding", ok + "Transfer-Encoding: identity, chunked\r\nContent-Length: 2\r\n\r\nab", fetch.ErrProtocol, false},
		{"identity and another field", ok + "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", fetch.ErrProtocol, false},
		{"identity and another line", ok + "Transfer-Encoding: identity\r\n , chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", fetch.ErrProtocol, false},
		{"flood of fields", ok + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 300) + "\r\n", fetch.ErrProtocol, false},
		{"endless line", ok + "X: " + strings.Repeat("y", 300<<10), fetch.ErrProtocol, false},
		{"flood of informational replies", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("y", 100)+"\r\n\r\n", 3000) + ok + "\r\n", fetch.ErrProtocol, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := drive.Get(t, newClient(t, nil, urlhttp.Options{}), raw(t, tt.answer, false))
			if e := asError(t, err); e.Code != tt.code || e.Retry != tt.retry || fetch.Printable(e.Error()) != e.Error() {
				t.Errorf("%v (retry %v), want class %q, retry %v", err, e.Retry, tt.code, tt.retry)
			}
			if strings.Contains(err.Error(), "net/http") && strings.Contains(err.Error(), "Content-Length") {
				t.Errorf("%v: the words of a library", err)
			}
		})
	}
}

// TestControlCharactersInFields checks that the error names the field but not its value, which may be
// a secret. Net/http rejects the response with and without TLS.
func TestControlCharactersInFields(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "https"} {
		srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: k=s3\x01cret\r\n\r\nab")
		}), strings.TrimPrefix(scheme, "http"))
		_, err := drive.Get(t, newClient(t, &fetch.Options{TLS: trust(srv)}, urlhttp.Options{}), srv.URL)
		if e := asError(t, err); e.Code != fetch.ErrProtocol || !strings.HasSuffix(e.Error(), ": the header field Set-Cookie has a control character") {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// TestOddServers checks responses that violate a rule without being ambiguous.
func TestOddServers(t *testing.T) {
	t.Parallel()
	const ok, chunked = "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n"
	for name, answer := range map[string]string{
		"trailer without CR":            ok + chunked + "X: y\n\n",
		"malformed trailer":             ok + chunked + "nonsense\r\n\r\n",
		"header without CR":             "HTTP/1.1 200 OK\nContent-Length: 2\n\nab",
		"no reason":                     "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nab",
		"the same length twice":         ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
		"a length besides chunks":       ok + "Content-Length: 7\r\n" + chunked + "\r\n",
		"a field in two lines":          ok + "X: a\r\n b\r\nContent-Length: 2\r\n\r\nab",
		"a blank in front of the colon": ok + "X : a\r\nContent-Length: 2\r\n\r\nab",
		"Latin-1 in a field":            ok + "X: a\xe9b\r\nContent-Length: 2\r\n\r\nab",
		"blanks behind a chunk's size":  ok + "Transfer-Encoding: chunked\r\n\r\n2  \r\nab\r\n0\r\n\r\n",
		"HTTP/1.0 with chunks":          "HTTP/1.0 200 OK\r\n" + chunked + "\r\n",
		"HTTP/1.0, chunks and a length": "HTTP/1.0 200 OK\r\nContent-Length: 12\r\nConnection: keep-alive\r\n" + chunked + "\r\n",
		"HTTP/2 without its framing":    "HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nab",
		"HTTP/3, no reason":             "HTTP/3 200\r\n" + chunked + "\r\n",
		"SHOUTcast":                     "ICY 200 OK\r\n\r\nab",
		"HTTP/1.0 with chunks, after an informational response": "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" +
			"HTTP/1.0 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n" + chunked + "\r\n",
		"identity and a length":          ok + "transfer-encoding: Identity \r\nContent-Length: 2\r\n\r\nab",
		"identity without a length":      ok + "Transfer-Encoding: identity\r\n\r\nab",
		"identity, later":                "HTTP/1.1 103 Early Hints\r\n\r\n" + ok + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab",
		"the name of another coding":     ok + "X: identity\r\n" + chunked + "\r\n",
		"bytes behind the announced end": ok + "Content-Length: 2\r\n\r\nabcdef",
	} {
		if body, err := drive.Get(t, newClient(t, nil, urlhttp.Options{}), raw(t, answer, false)); err != nil || body != "ab" {
			t.Errorf("%s: %q, %v", name, body, err)
		}
	}
}

// TestOldChunks checks that chunks of HTTP/1.0 and of versions that HTTP/1 does not have are decoded, and
// the coding identity is ignored, also with TLS and after informational responses, in any fragments.
func TestOldChunks(t *testing.T) {
	t.Parallel()
	hints := uri.Escape("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.0 100 Continue\r\n\r\n")
	for _, scheme := range []string{"http", "https"} {
		srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			version := strings.TrimPrefix(r.URL.Path, "/")
			rest := "Chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
			if r.URL.Query().Has("identity") {
				rest = "identity\r\nContent-Length: 2\r\n\r\nab"
			}
			for _, c := range []byte(r.URL.Query().Get("before") + version + " 200 OK\r\nTransfer-Encoding: " + rest) {
				conn.Write([]byte{c})
			}
		}), strings.TrimPrefix(scheme, "http"))
		for _, method := range []string{"", http.MethodPost} {
			for _, path := range []string{"HTTP/1.0", "HTTP/2", "HTTP/3", "ICY", "HTTP/1.1",
				"HTTP/1.0?identity", "HTTP/1.1?identity", "HTTP/1.1?identity&before=" + hints, "HTTP/1.0?before=" + hints, "ICY?before=" + hints, "HTTP/1.1?before=" + hints} {
				req := &fetch.Request{URL: uri.MustParse(srv.URL + "/" + path), Method: method}
				if body, resp, err := drive.Do(t, newClient(t, &fetch.Options{TLS: trust(srv)}, urlhttp.Options{}), req); err != nil || body != "ab" || resp.Framing == fetch.FramedByClose {
					t.Errorf("%s %s %s: %q, %v", scheme, method, path, body, err)
				}
			}
		}
	}
}

// TestEndByClose checks the framing of close-delimited bodies.
func TestEndByClose(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"HTTP/1.0", "HTTP/1.1"} {
		body, resp, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(raw(t, version+" 200 OK\r\n\r\nabc", false))})
		if err != nil || body != "abc" || resp.Framing != fetch.FramedByClose || resp.Size != -1 {
			t.Errorf("%s: %q, %v", version, body, err)
		}
	}
	for _, answer := range []string{"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"} {
		_, resp, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(raw(t, answer, false))})
		if err != nil || resp.Framing != fetch.FramedByProtocol {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

// TestSilence checks servers that become silent.
func TestSilence(t *testing.T) {
	t.Parallel()
	const short = 50 * time.Millisecond
	tests := []struct {
		name, answer string
		timeouts     fetch.Timeouts
	}{
		{"no answer", "", fetch.Timeouts{Reply: short, Idle: -1}},
		{"half a header", "HTTP/1.1 200 OK\r\nX: ", fetch.Timeouts{Reply: short, Idle: -1}},
		{"hints only", "HTTP/1.1 103 Early Hints\r\n\r\n", fetch.Timeouts{Reply: short, Idle: -1}},
		{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", fetch.Timeouts{Reply: -1, Idle: short}},
		{"a redirect with half a body", "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 5\r\n\r\nab", fetch.Timeouts{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, &fetch.Options{Timeouts: tt.timeouts, MaxRedirects: 1}, urlhttp.Options{})
			_, err := drive.Get(t, c, raw(t, tt.answer, true))
			want := fetch.ErrNetwork
			if tt.timeouts == (fetch.Timeouts{}) {
				want = fetch.ErrRedirect
			}
			if e := asError(t, err); e.Code != want {
				t.Errorf("%v, want class %q", err, want)
			}
		})
	}
}

// TestReplyLongerThanIdle checks that the reply timeout applies before a response.
func TestReplyLongerThanIdle(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(300 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
			io.WriteString(w, "late")
		case <-r.Context().Done():
		}
	})
	c := newClient(t, &fetch.Options{Timeouts: fetch.Timeouts{Idle: 50 * time.Millisecond}}, urlhttp.Options{})
	drive.Gets(t, c, u, "late")
}

// TestSlowReader pauses reading for longer than the idle timeout, which only applies to the server.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	const size = 4 << 20 // exceeds all buffers
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, size)) })
	for _, proto := range []string{"http/1.1", "h2"} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newMemoryNetwork()
				srv := startServer(t, &httptest.Server{Listener: n, Config: &http.Server{Handler: h}}, proto)
				c := newClient(t, n.options(fetch.Options{TLS: trust(srv), Timeouts: fetch.Timeouts{Idle: 5 * time.Second}}), urlhttp.Options{})
				resp, err := c.Get(t.Context(), srv.URL)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.CopyN(io.Discard, resp.Body, 1000); err != nil {
					t.Fatal(err)
				}
				time.Sleep(8 * time.Second)
				got, err := io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if err != nil || got != size-1000 {
					t.Errorf("%d more bytes, %v", got, err)
				}
			})
		})
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	for _, answer := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
		resp, err := newClient(t, nil, urlhttp.Options{}).Get(ctx, raw(t, answer, true))
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if !errors.Is(err, why) {
			t.Errorf("after %q: %v, want the cause of the context", answer, err)
		}
	}
}

func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	drive.Fails(t, newClient(t, &fetch.Options{Policy: &fetch.Policy{AllowPorts: []uint16{1}}}, urlhttp.Options{}), "http://127.0.0.1:1/", fetch.ErrNetwork)
}
