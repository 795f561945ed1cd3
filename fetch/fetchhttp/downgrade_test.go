package fetchhttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
)

// What a page says about another host does not change how the proxy asks that host: only its own answers
// do, for all clients, and not for longer than they hold.
func TestDowngradeLearnsFromAnswers(t *testing.T) {
	t.Parallel()
	var broken, redirects atomic.Bool
	redirects.Store(true)
	secure, opts := secureSite(t, func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/back" {
			http.Redirect(w, r, "http://example.com/back", http.StatusFound)
			return
		}
		io.WriteString(w, "secure "+r.Host)
	})
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Host == "page.example" && r.URL.Path == "/moved":
			http.Redirect(w, r, "https://nohttps.example/", http.StatusFound)
		case r.Host == "page.example":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<a href="https://nohttps.example/">x</a> https://example.com/`)
		case r.Host == "example.com" && redirects.Load():
			http.Redirect(w, r, "https://example.com"+r.RequestURI, http.StatusMovedPermanently)
		default:
			io.WriteString(w, "plain "+r.Host)
		}
	}))
	t.Cleanup(plain.Close)
	opts.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, port, _ := net.SplitHostPort(addr)
		switch {
		case port == "443" && host != "nohttps.example":
			addr = secure.Listener.Addr().String()
		case port == "80" && host != "nohttp.example.com":
			addr = plain.Listener.Addr().String()
		default:
			addr = "127.0.0.1:1" // nothing listens there
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	address := serveProxy(t, &fetchhttp.Proxy{Downgrade: true}, opts)
	alice, bob := through(t, address), through(t, address)
	get := func(c *http.Client, u, want string) {
		t.Helper()
		resp, err := c.Get(u)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if got := resp.Status[:4] + resp.Header.Get("Location") + string(body); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v; want %q", u, got, err, want)
		}
	}
	for _, c := range []*http.Client{alice, bob} {
		get(c, "http://page.example/", `200 <a href="http://nohttps.example/">x</a> http://example.com/`)
		get(c, "http://page.example/moved", "302 http://nohttps.example/")
		get(c, "http://nohttps.example/", "200 plain nohttps.example")
		get(c, "http://example.com/", "200 secure example.com")
	}
	get(alice, "http://example.com/back", "302 http://example.com/back") // and https is forgotten
	redirects.Store(false)
	get(bob, "http://example.com/", "200 plain example.com")
	redirects.Store(true)
	get(bob, "http://example.com/", "200 secure example.com")
	broken.Store(true)
	redirects.Store(false)
	get(alice, "http://example.com/", "200 plain example.com")
	broken.Store(false)
	get(bob, "http://example.com/", "200 plain example.com")
	get(alice, "http://nohttp.example.com/", "200 secure nohttp.example.com")
	get(bob, "http://nohttp.example.com:8080/", "502 ") // there is no https for another port
}

// The links of a page are replaced, so that its length changes. A client that resumes gets all of the page.
func TestDowngradedPagesHaveNoRanges(t *testing.T) {
	t.Parallel()
	const page = `<a href="https://example.com/">x</a>`
	for kind, want := range map[string]string{
		"text/html": "200 " + strings.Replace(page, "https", "http", 1), "application/pdf": "206 " + page[10:]} {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader(page))
		}))
		t.Cleanup(site.Close)
		address := serveProxy(t, &fetchhttp.Proxy{Downgrade: true}, &fetch.Options{Policy: &fetch.Policy{AllowPrivate: true}})
		r, err := http.NewRequestWithContext(t.Context(), "GET", site.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Range", "bytes=10-")
		r.Header.Set("If-Range", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
		resp, err := through(t, address).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if got := resp.Status[:4] + string(body); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", kind, got, err, want)
		}
		if ranges := resp.Header.Get("Accept-Ranges"); kind == "text/html" && ranges != "" {
			t.Errorf("Accept-Ranges: %s", ranges)
		}
	}
}
