package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/gopher"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

// A publicSite serves public.example without a connection, so that the client treats it as a public
// server. It records the URLs of all other requests that reach a driver.
type publicSite struct {
	html      string
	mu        sync.Mutex
	otherURLs []string
}

func (p *publicSite) middleware(next fetch.Driver) fetch.Driver {
	return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		switch {
		case req.URL.Host() != "public.example":
			p.mu.Lock()
			p.otherURLs = append(p.otherURLs, req.URL.String())
			p.mu.Unlock()
			return next.Open(ctx, req)
		case req.URL.Path() == "/robots.txt":
			return nil, &fetch.Error{Code: fetch.ErrNotFound}
		}
		return &fetch.Response{Meta: fetch.Meta{ContentType: "text/html", Size: int64(len(p.html))},
			Body: io.NopCloser(strings.NewReader(p.html))}, nil
	})
}

// counting listens on loopback and counts the connections.
func counting(t *testing.T) (port string, n *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n = new(atomic.Int32)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, n
}

// A public page links to a private host, in various notations. Nothing is sent to that host, not
// even a request for robots.txt.
func TestRobotsNotRequestedFromForbiddenHosts(t *testing.T) {
	t.Parallel()
	port, connections := counting(t)
	tests := []struct {
		link          string
		reachesDriver bool // the request reaches the driver, which resolves the name
	}{
		{"http://127.0.0.1:" + port + "/", false},
		{"https://127.0.0.1:" + port + "/", false},
		{"http://[::ffff:127.0.0.1]:" + port + "/", false},
		{"gopher://127.0.0.1:" + port + "/0x", false},
		{"http://10.9.8.7/", false},
		{"http://169.254.169.254/latest/", false},
		{"http://second.example:631/", false},
		{"http://forbidden.example:" + port + "/page", false},
		{"http://internal.example:" + port + "/", true},
		{"gopher://internal.example:" + port + "/0x", true},
	}
	for _, tt := range tests {
		t.Run(tt.link, func(t *testing.T) {
			t.Parallel()
			site := &publicSite{html: `<a href="` + tt.link + `">x</a>`}
			loopback := netip.MustParseAddr("127.0.0.1")
			c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{site.middleware},
				Network: fetch.Network{Hosts: map[string]netip.Addr{"internal.example:" + port: loopback, "forbidden.example:" + port: loopback}},
				Policy: &fetch.Policy{CheckURL: func(u, _ uri.URI) error {
					if u.Host() == "forbidden.example" && u.Path() == "/page" {
						return errors.New("forbidden by the test")
					}
					return nil
				}}}, httpdriver.Load, gopher.Load)
			defer c.Close()
			var failures []error
			opts := crawl.Options{Scope: crawl.Scope{SpanHosts: true}, Ended: func(p *crawl.Page, err error) {
				if p.Depth > 0 {
					failures = append(failures, err)
				}
			}}
			if _, err := crawl.Run(t.Context(), c, []uri.URI{uri.MustParse("http://public.example/")}, &opts); err != nil {
				t.Fatal(err)
			}
			if len(failures) != 1 || fetch.CodeOf(failures[0]) != fetch.ErrPolicy {
				t.Errorf("visit of the link: %v, want one policy error", failures)
			}
			if !tt.reachesDriver && len(site.otherURLs) > 0 {
				t.Errorf("requests to drivers: %q", site.otherURLs)
			}
		})
	}
	t.Cleanup(func() {
		if n := connections.Load(); n != 0 {
			t.Errorf("%d connections to the private host", n)
		}
	})
}

// The login of a seed goes to the pages of its site, but that of a seed over TLS does not go to
// plaintext pages.
func TestLoginOfSeed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ seed, want string }{
		{"https://joe:secret@h/", "http://h/a https://i/ https://joe:secret@h/ https://joe:secret@h/b"},
		{"http://joe:secret@h/", "http://joe:secret@h/ http://joe:secret@h/a https://i/ https://joe:secret@h/b"},
	} {
		var mu sync.Mutex
		var got []string
		load := func(_ fetch.Env, reg *fetch.Registry) {
			for name, port := range map[string]uint16{"http": 80, "https": 443} {
				reg.Register(fetch.Scheme{Name: name, Port: port, Ops: []fetch.Op{fetch.OpGet}, Traits: fetch.Traits{Pages: true, HTML: true},
					Driver: fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
						mu.Lock()
						defer mu.Unlock()
						got = append(got, req.URL.String())
						page := `<a href="http://h/a"></a><a href="https://h/b"></a><a href="https://i/"></a>`
						return &fetch.Response{Meta: fetch.Meta{ContentType: "text/html", Size: int64(len(page))},
							Body: io.NopCloser(strings.NewReader(page))}, nil
					})})
			}
		}
		c := fetch.New(nil, load)
		if _, err := crawl.Run(t.Context(), c, []uri.URI{uri.MustParse(tt.seed)}, &crawl.Options{Scope: crawl.Scope{SpanHosts: true, MaxDepth: 1}}); err != nil {
			t.Fatal(err)
		}
		c.Close()
		slices.Sort(got)
		if visited := strings.Join(got, " "); visited != tt.want {
			t.Errorf("%s: requests for %s, want %s", tt.seed, visited, tt.want)
		}
	}
}

// Hosts named by the user may be private. They may link to other private hosts.
func TestPrivateHostNamedByUser(t *testing.T) {
	t.Parallel()
	other := newSite(t, map[string]string{"/": "other", "/robots.txt": "User-agent: *\nDisallow: /no"})
	_, otherPort, _ := net.SplitHostPort(other.Listener.Addr().String())
	site := newSite(t, map[string]string{"/": `<a href=/a></a><a href=/b></a><a href="http://other.corp:` + otherPort + `/"></a>`,
		"/a": "a", "/b": "b", "/robots.txt": "User-agent: *\nDisallow: /b"})
	_, port, _ := net.SplitHostPort(site.Listener.Addr().String())
	loopback := netip.MustParseAddr("127.0.0.1")
	c := fetch.New(&fetch.Options{Network: fetch.Network{Hosts: map[string]netip.Addr{
		"wiki.corp:" + port: loopback, "other.corp:" + otherPort: loopback}}}, httpdriver.Load)
	defer c.Close()
	var got []string
	opts := crawl.Options{Scope: crawl.Scope{SpanHosts: true}, Ended: func(p *crawl.Page, err error) {
		got = append(got, strings.TrimSpace(p.URL.Host()+p.URL.Path()+" "+string(fetch.CodeOf(err))))
	}}
	if _, err := crawl.Run(t.Context(), c, []uri.URI{uri.MustParse("http://wiki.corp:" + port + "/")}, &opts); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if want := []string{"other.corp/", "wiki.corp/", "wiki.corp/a"}; !slices.Equal(got, want) {
		t.Errorf("visited %q, want %q", got, want)
	}
}

// The refusal of a link is not cached for other links. Cached rules do not allow a link that the
// policy refuses.
func TestPolicyRefusalsAreNotCached(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		fmt.Fprint(w, "User-agent: *\nDisallow: /no")
	}))
	t.Cleanup(site.Close)
	_, port, _ := net.SplitHostPort(site.Listener.Addr().String())
	for _, host := range []string{"wiki.corp", "127.0.0.1"} {
		requests.Store(0)
		c := fetch.New(&fetch.Options{Network: fetch.Network{Hosts: map[string]netip.Addr{
			"wiki.corp:" + port: netip.MustParseAddr("127.0.0.1")}}}, httpdriver.Load)
		defer c.Close()
		r := crawl.NewRobots(c, "urlget")
		u, public, private := uri.MustParse("http://"+host+":"+port+"/x"), uri.MustParse("http://public.example/"), uri.MustParse("http://10.0.0.1/")
		if _, err := r.Rules(t.Context(), u, public); fetch.CodeOf(err) != fetch.ErrPolicy || requests.Load() != 0 {
			t.Errorf("%s, from a public page: %v after %d requests, want a policy error and no request", host, err, requests.Load())
		}
		for _, from := range []uri.URI{{}, private} {
			rules, err := r.Rules(t.Context(), u, from)
			if err != nil {
				t.Errorf("%s, from %q: %v", host, from, err)
			} else if ok, _ := rules.Allowed("/no"); ok {
				t.Errorf("%s, from %q: rules are not those of the server", host, from)
			}
		}
		if _, err := r.Rules(t.Context(), u, public); host == "127.0.0.1" && fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Errorf("%s, from a public page with cached rules: %v, want a policy error", host, err)
		}
		if n := requests.Load(); n != 1 {
			t.Errorf("%s: robots.txt was requested %d times, want once", host, n)
		}
	}
}

// Requests for robots.txt carry no login, cookie or other credential of the user. They carry other
// fields that the client adds.
func TestRobotsRequestHasNoCredentials(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var pages, rules, tags []string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := strings.Join(append(r.Header["Authorization"], r.Header["Cookie"]...), ", ")
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			rules, tags = append(rules, sent), append(tags, r.Header.Get("X-Tag"))
		} else {
			pages = append(pages, sent)
		}
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/a></a>")
	}))
	t.Cleanup(site.Close)
	addr := site.Listener.Addr().String()
	netrc := fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
		return fetch.Credential{User: "joe", Password: "secret"}, nil
	})
	addHeader := func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			dup := *req
			dup.Header = map[string][]string{"Authorization": {"Bearer secret"}, "Cookie": {"s=secret"}, "X-Tag": {"kept"}}
			return next.Open(ctx, &dup)
		})
	}
	tests := []struct {
		name, login string
		opts        fetch.Options
	}{
		{"in the URL", "joe:secret@", fetch.Options{}},
		{"from netrc", "", fetch.Options{Credentials: netrc}},
		{"configured header", "", fetch.Options{Middleware: []fetch.Middleware{addHeader}}},
	}
	for _, tt := range tests {
		pages, rules, tags = nil, nil, nil
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		jar.SetCookies(&url.URL{Scheme: "http", Host: addr, Path: "/"}, []*http.Cookie{{Name: "session", Value: "secret"}})
		c := fetch.New(&tt.opts, httpdriver.With(httpdriver.Options{Jar: jar}))
		defer c.Close()
		seed := "http://" + tt.login + addr + "/"
		resp, err := c.Get(t.Context(), seed) // the client knows the login before the crawl
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if _, err := crawl.Run(t.Context(), c, []uri.URI{uri.MustParse(seed)}, nil); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if want := []string{""}; !slices.Equal(rules, want) {
			t.Errorf("%s: credentials sent for robots.txt: %q, want %q", tt.name, rules, want)
		}
		if len(tt.opts.Middleware) > 0 && !slices.Equal(tags, []string{"kept"}) {
			t.Errorf("%s: other fields of the request for robots.txt: %q", tt.name, tags)
		}
		if len(pages) < 3 || !strings.Contains(pages[len(pages)-1], "secret") {
			t.Errorf("%s: credentials sent for pages: %q", tt.name, pages)
		}
		mu.Unlock()
	}
}
