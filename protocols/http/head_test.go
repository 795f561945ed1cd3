package http

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"

	"github.com/urlget/urlget/protocols/internal/httphead"
)

// heads returns a request as written by net/http and by us, with the number of calls of WroteHeaders.
func heads(req *http.Request) (theirs, ours string, calls [2]int, errs [2]error) {
	var b [2]strings.Builder
	for i, write := range []func(*bufio.Writer, *http.Request) error{
		func(w *bufio.Writer, r *http.Request) error { return r.Write(w) }, writeHead,
	} {
		trace := &httptrace.ClientTrace{WroteHeaders: func() { calls[i]++ }}
		w := bufio.NewWriter(&b[i])
		errs[i] = write(w, req.WithContext(httptrace.WithClientTrace(context.Background(), trace)))
		w.Flush()
	}
	return b[0].String(), b[1].String(), calls, errs
}

// FuzzHeads holds the heads of requests against net/http.
func FuzzHeads(f *testing.F) {
	for _, tt := range []struct{ method, host, path, query, agent, name, value string }{
		{"GET", "www.example:8080", "/a b/ä", "x=1", "urlget", "Accept", "*/*"},
		{"HEAD", "[::1%25eth0]:80", "", "", "urlget", "X", " padded\t"},
		{"POST", "h", "/", "", "", "Host", "other"},
		{"GET", "münchen.example", "//x", "?", "urlget", "Content-Length", "5"},
		{"GET", "H.EXAMPLE", "*", "a b", " ", "Transfer-Encoding", "chunked"},
		{"GET", "h\r\nX: y", "/", "", "urlget", "Trailer", "x"},
		{"", "127.0.0.1", "/%2f", "", "u\x00", "User-Agent", ""},
		{"GET", "", "/\x7f", "", "urlget", "Connection", "close"},
	} {
		f.Add(tt.method, tt.host, tt.path, tt.query, tt.agent, tt.name, tt.value, false)
		f.Add(tt.method, tt.host, tt.path, tt.query, tt.agent, tt.name, tt.value, true)
	}
	f.Fuzz(func(t *testing.T, method, host, path, query, agent, name, value string, closes bool) {
		h := http.Header{"Accept-Encoding": {"identity"}, "Range": {"bytes=1-"}, "User-Agent": {agent}}
		h[name] = append(h[name], value, "second")
		for name, values := range h {
			if httphead.CheckSyntax(name, values) != nil {
				t.Skip()
			}
		}
		u := &url.URL{Scheme: "http", Host: host, Path: path, RawQuery: query}
		theirs, ours, calls, errs := heads(&http.Request{Method: method, URL: u, Header: h, Close: closes})
		if theirs != ours || calls[0] != calls[1] || (errs[0] == nil) != (errs[1] == nil) {
			t.Errorf("net/http writes %q (%v), and we %q (%v); WroteHeaders %v", theirs, errs[0], ours, errs[1], calls)
		}
	})
}

func TestHeadsAllocateLittle(t *testing.T) {
	u, err := url.Parse("http://www.example/directory/file?query=1")
	if err != nil {
		t.Fatal(err)
	}
	req := &http.Request{Method: "GET", URL: u,
		Header: http.Header{"User-Agent": {"urlget"}, "Accept": {"*/*"}, "Accept-Encoding": {"identity"}}}
	w := bufio.NewWriter(new(strings.Builder))
	if n := testing.AllocsPerRun(100, func() {
		w.Reset(nil)
		writeHead(w, req)
	}); n > 2 {
		t.Errorf("%v allocations", n)
	}
}
