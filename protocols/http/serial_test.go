package http_test

import (
	"bufio"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// serveSerially answers the requests of one connection after the other, and keeps each open until the client
// closes it.
func (n *memoryNetwork) serveSerially(t testing.TB) {
	done := make(chan struct{})
	t.Cleanup(func() { n.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := n.Accept()
			if err != nil {
				return
			}
			for r := bufio.NewReader(conn); ; {
				req, err := http.ReadRequest(r)
				if err != nil {
					break
				}
				body := req.Method + " " + req.URL.Host + req.URL.Path
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			}
			conn.Close()
		}
	}()
}

// TestSerialProxies checks that a proxy that serves one connection at a time is not blocked by an idle
// connection for another host or for the pages that link to one.
func TestSerialProxies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newMemoryNetwork()
		n.serveSerially(t)
		proxy := uri.MustParse("http://127.0.0.1:8080")
		c := newClient(t, n.options(fetch.Options{
			Proxy:    func(uri.URI) (uri.URI, error) { return proxy, nil },
			Timeouts: fetch.Timeouts{Connect: 5 * time.Second, Reply: 5 * time.Second},
		}), urlhttp.Options{})
		start := time.Now()
		page := uri.MustParse("http://a.test/")
		for _, req := range []fetch.Request{
			{URL: page},
			{URL: uri.MustParse("http://a.test/link"), From: page},
			{URL: uri.MustParse("http://b.test/link"), From: page},
			{URL: uri.MustParse("http://c.test/link"), From: page},
			{URL: uri.MustParse("http://d.test/")},
			{URL: uri.MustParse("http://a.test/again"), From: page},
		} {
			want := "GET " + req.URL.Host() + req.URL.Path()
			if got, _, err := drive.Do(t, c, &req); got != want || err != nil {
				t.Errorf("%v: %q, %v", req.URL, got, err)
			}
		}
		if took := time.Since(start); took > 3*time.Second { // two stalls
			t.Errorf("six requests took %v", took)
		}
		c.Close()
	})
}
