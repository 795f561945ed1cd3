package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

// visits crawls a site. It returns the visited paths that do not redirect, sorted, and the reasons for unfollowed links
// by path.
func visits(t *testing.T, site *httptest.Server, path string, opts crawl.Options) (done []string, left map[string]crawl.Reason) {
	t.Helper()
	c := fetch.New(nil, httpdriver.Load)
	defer c.Close()
	left = map[string]crawl.Reason{}
	opts.Ended = func(p *crawl.Page, err error) {
		if !p.Target.IsZero() {
			return
		}
		name := strings.TrimPrefix(p.URL.String(), site.URL)
		if err != nil {
			name += " " + string(fetch.CodeOf(err))
		}
		done = append(done, name)
	}
	opts.Left = func(l crawl.Link, why crawl.Reason) { left[strings.TrimPrefix(l.URL.String(), site.URL)] = why }
	if _, err := crawl.Run(t.Context(), c, []uri.URI{uri.MustParse(site.URL + path)}, &opts); err != nil {
		t.Fatal(err)
	}
	slices.Sort(done)
	return done, left
}

// newSite serves HTML pages by path. A text that starts with a number is sent with that status
// code. A text that starts with "->" is a redirect.
func newSite(t *testing.T, pages map[string]string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := pages[r.URL.RequestURI()]
		var status int
		switch to, redirects := strings.CutPrefix(text, "->"); {
		case !ok:
			http.NotFound(w, r)
		case redirects:
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		default:
			if n, _ := fmt.Sscanf(text, "%3d", &status); n == 1 {
				w.WriteHeader(status)
			}
			if strings.HasSuffix(r.URL.Path, ".xml") {
				w.Header().Set("Content-Type", "application/xml")
			} else {
				w.Header().Set("Content-Type", "text/html")
			}
			fmt.Fprint(w, text)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestRobots(t *testing.T) {
	t.Parallel()
	const page = `<a href=/a></a><a href=/b></a>`
	tests := []struct {
		name, robots string
		opts         crawl.Options
		want         []string
	}{
		{"forbidden", "User-agent: *\nDisallow: /a", crawl.Options{}, []string{"/", "/b"}},
		{"ignored", "User-agent: *\nDisallow: /a", crawl.Options{NoRobots: true}, []string{"/", "/a", "/b"}},
		{"rule for another agent", "User-agent: me\nDisallow: /a", crawl.Options{}, []string{"/", "/a", "/b"}},
		{"rule for this agent", "User-agent: me\nDisallow: /a", crawl.Options{Agent: "Me"}, []string{"/", "/b"}},
		{"robots.txt forbidden", "403 forbidden", crawl.Options{}, []string{"/", "/a", "/b"}},
		{"broken", "500 broken", crawl.Options{}, []string{"/", "/a server", "/b server"}},
		{"elsewhere", "->/rules", crawl.Options{}, []string{"/", "/b"}},
		{"seeds are always visited", "User-agent: *\nDisallow: /", crawl.Options{}, []string{"/"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site := newSite(t, map[string]string{"/": page, "/a": "a", "/b": "b", "/robots.txt": tt.robots, "/rules": "User-agent: *\nDisallow: /a"})
			done, left := visits(t, site, "/", tt.opts)
			if !slices.Equal(done, tt.want) {
				t.Errorf("visited %q, want %q", done, tt.want)
			}
			if len(tt.want) == 2 && left["/a"] != "robots" {
				t.Errorf("unfollowed: %v", left)
			}
		})
	}
}

// Links of a page with the meta element robots are not followed if its content is "nofollow". Images
// and the like are part of the page.
func TestMetaRobots(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"/": `<a href=/quiet></a><a href=/b></a>`, "/b": "b", "/c": "c", "/i.png": "i",
		"/quiet": `<meta name="robots" content="nofollow"><a href=/c></a><a href=/b></a><img src=i.png>`}
	for _, tt := range []struct {
		seed     string
		noRobots bool
		want     []string
		left     crawl.Reason // the reason for /c
	}{
		{"/", false, []string{"/", "/b", "/i.png", "/quiet"}, "nofollow"},
		{"/quiet", false, []string{"/i.png", "/quiet"}, "nofollow"},
		{"/", true, []string{"/", "/b", "/c", "/i.png", "/quiet"}, ""},
	} {
		done, left := visits(t, newSite(t, pages), tt.seed, crawl.Options{NoRobots: tt.noRobots})
		if !slices.Equal(done, tt.want) || left["/c"] != tt.left {
			t.Errorf("from %s, NoRobots %v: %q, want %q; left %v", tt.seed, tt.noRobots, done, tt.want, left)
		}
	}
}

// Options.Left says which reference of which page is not a URL.
func TestMalformedReferences(t *testing.T) {
	t.Parallel()
	site := newSite(t, map[string]string{"/": `<a href=/b>b</a><a href="http://h:port/x">the link</a>`, "/b": `<img src="http://["><a href="mailto:a@b">mail me</a>`})
	c := fetch.New(nil, httpdriver.Load)
	defer c.Close()
	var got []string
	opts := crawl.Options{Left: func(l crawl.Link, why crawl.Reason) {
		got = append(got, fmt.Sprintf("%s %s %s %s: %s", strings.TrimPrefix(l.From.String(), site.URL), l.Kind, l.Rel, why, l.Text))
	}}
	if _, err := crawl.Run(t.Context(), c, []uri.URI{uri.MustParse(site.URL + "/")}, &opts); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{
		`/ error a no_target: http://h:port/x: malformed URL "http://h:port/x": port is not a number`,
		`/b error img no_target: http://[: malformed URL`,
		`/b object a scheme: mail me`,
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSitemaps(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"/": "x", "/a": "a", "/b": "b",
		"/maps.xml": "<sitemapindex><sitemap><loc>/map.xml</loc></sitemap></sitemapindex>",
		"/map.xml":  "<urlset><url><loc>/a</loc></url></urlset>", "/sitemap.xml": "<urlset><url><loc>/b</loc></url></urlset>"}
	done, _ := visits(t, newSite(t, pages), "/", crawl.Options{Sitemaps: true})
	if want := []string{"/", "/b", "/sitemap.xml"}; !slices.Equal(done, want) {
		t.Errorf("default sitemap: %q, want %q", done, want)
	}
	pages["/robots.txt"] = "Sitemap: /maps.xml"
	done, _ = visits(t, newSite(t, pages), "/", crawl.Options{Sitemaps: true})
	if want := []string{"/", "/a", "/map.xml", "/maps.xml"}; !slices.Equal(done, want) {
		t.Errorf("sitemap in robots.txt: %q, want %q", done, want)
	}
	delete(pages, "/robots.txt")
	delete(pages, "/sitemap.xml")
	if done, _ = visits(t, newSite(t, pages), "/", crawl.Options{Sitemaps: true}); !slices.Equal(done, []string{"/"}) {
		t.Errorf("no sitemap: %q", done)
	}
}

// Sitemaps are followed as links are: on the server of the seed, and as deep as pages. The names that a
// crawl accepts and the directory of the seed do not count.
func TestScopeOfSitemaps(t *testing.T) {
	t.Parallel()
	other := newSite(t, map[string]string{"/": "x", "/other.xml": "<urlset><url><loc>/</loc></url></urlset>"})
	pages := map[string]string{"/robots.txt": "Sitemap: /maps.xml\nSitemap: " + other.URL + "/robots.xml\nSitemap: /moved.xml\nSitemap: gopher://h/x",
		"/d/": `<link rel=sitemap href="` + other.URL + `/other.xml"><link rel=sitemap href=/linked.xml>`, "/d/a.png": "a", "/b.png": "b",
		"/maps.xml": "<sitemapindex><sitemap><loc>" + other.URL + "/other.xml</loc></sitemap><sitemap><loc>/1.xml</loc></sitemap>" +
			"<sitemap><loc>ftp://h/x.xml</loc></sitemap><sitemap><loc>http://[</loc></sitemap></sitemapindex>",
		"/linked.xml": "<urlset><url><loc>/d/a.png</loc></url><url><loc>/b.png</loc></url></urlset>",
		"/moved.xml":  "->" + other.URL + "/other.xml"}
	for i := 1; i < 9; i++ {
		pages[fmt.Sprintf("/%d.xml", i)] = fmt.Sprintf("<sitemapindex><sitemap><loc>/%d.xml</loc></sitemap></sitemapindex>", i+1)
	}
	site := newSite(t, pages)
	scope := crawl.Scope{MaxDepth: 3, NoParent: true, Accept: []string{"png"}}
	done, left := visits(t, site, "/d/", crawl.Options{Sitemaps: true, Scope: scope})
	if want := []string{"/1.xml", "/2.xml", "/3.xml", "/d/", "/d/a.png", "/linked.xml", "/maps.xml"}; !slices.Equal(done, want) {
		t.Errorf("%q, want %q", done, want)
	}
	want := map[string]crawl.Reason{other.URL + "/other.xml": "host", other.URL + "/robots.xml": "host", "gopher://h/x": "scheme", "ftp://h/x.xml": "scheme", "": "no_target", "/4.xml": "depth", "/b.png": "parent"}
	if !maps.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	done, _ = visits(t, site, "/d/", crawl.Options{Sitemaps: true, Scope: crawl.Scope{SpanHosts: true, Domains: []string{"h.example"}}})
	if i := slices.IndexFunc(done, func(s string) bool { return strings.Contains(s, "other.xml") }); i >= 0 {
		t.Errorf("%q is outside of the domains", done[i])
	}
}

// Each sitemap of robots.txt that is not followed is reported, with a reason.
func TestRefusedSitemapsAreReported(t *testing.T) {
	t.Parallel()
	robots := "Sitemap: http://[\nSitemap: data:,x\n"
	for i := range 5 {
		robots += fmt.Sprintf("Sitemap: /%d.xml\n", i)
	}
	site := newSite(t, map[string]string{"/robots.txt": robots, "/": "x"})
	left := map[string]crawl.Reason{}
	opts := crawl.Options{Sitemaps: true, MaxAlike: 3}
	opts.Left = func(l crawl.Link, why crawl.Reason) {
		if l.Rel != "sitemap" || l.From.String() != site.URL+"/" {
			t.Errorf("%+v", l)
		}
		left[strings.TrimPrefix(l.URL.String(), site.URL)+l.Text] = why
	}
	c := fetch.New(nil, httpdriver.Load)
	defer c.Close()
	if _, err := crawl.Run(t.Context(), c, []uri.URI{uri.MustParse(site.URL + "/")}, &opts); err != nil {
		t.Fatal(err)
	}
	want := map[string]crawl.Reason{"data:,x": crawl.NoTarget, "/3.xml": crawl.TooManyAlike, "/4.xml": crawl.TooManyAlike,
		`http://[: malformed URL "http://[": [ without ]`: crawl.NoTarget}
	if !maps.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	other := newSite(t, map[string]string{"/": "other"})
	site := newSite(t, map[string]string{"/start": "->/s/", "/s/": `<a href=a></a><a href=b></a><a href=c></a><a href=/up></a>`,
		"/s/a": "->/s/target", "/s/b": "->/s/target", "/s/target": `<a href=deep></a>`, "/s/deep": "x", "/s/c": "->" + other.URL + "/"})
	done, left := visits(t, site, "/start", crawl.Options{Scope: crawl.Scope{NoParent: true}})
	want := []string{"/s/", "/s/deep", "/s/target"}
	if !slices.Equal(done, want) || left["/up"] != "parent" || left[other.URL+"/"] != "host" {
		t.Errorf("visited %q, want %q; unfollowed %v", done, want, left)
	}
}

func TestMaxAlikeEndsCalendars(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		var n int
		fmt.Sscanf(r.URL.Path, "/day/%d", &n)
		fmt.Fprintf(w, `<a href=/day/%d></a><a href=/day/%d></a>`, n+1, n+2)
	}))
	t.Cleanup(site.Close)
	done, left := visits(t, site, "/", crawl.Options{Scope: crawl.Scope{MaxDepth: -1}, MaxAlike: 30})
	if len(done) != 31 || !slices.Contains(slices.Collect(func(yield func(crawl.Reason) bool) {
		for _, why := range left {
			if !yield(why) {
				return
			}
		}
	}), crawl.TooManyAlike) {
		t.Errorf("%d visits, unfollowed %v", len(done), left)
	}
}

func TestDepthOfShortestPath(t *testing.T) {
	t.Parallel()
	// The first path to "/far" has four links, and a later one has two, so that its links are
	// within MaxDepth.
	release := make(chan struct{})
	var once sync.Once
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<a href=/slow></a><a href=/1></a>`)
		case "/slow":
			<-release
			fmt.Fprint(w, `<a href=/far></a>`)
		case "/1":
			fmt.Fprint(w, `<a href=/2></a>`)
		case "/2":
			fmt.Fprint(w, `<a href=/far></a>`)
		case "/far":
			fmt.Fprint(w, `<a href=/beyond></a>`)
			once.Do(func() { close(release) })
		case "/beyond":
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	done, _ := visits(t, site, "/", crawl.Options{Scope: crawl.Scope{MaxDepth: 3}})
	if !slices.Contains(done, "/beyond") {
		t.Errorf("visited %q, want /beyond", done)
	}
}

func TestFullDiskStopsCrawlThatCanBeResumed(t *testing.T) {
	t.Parallel()
	site := newSite(t, map[string]string{"/": `<a href=/a></a><a href=/b></a>`, "/a": "a", "/b": "b"})
	c := fetch.New(nil, httpdriver.Load)
	defer c.Close()
	file := filepath.Join(t.TempDir(), "state")
	var full atomic.Bool
	full.Store(true)
	var done []string
	run := func() error {
		st, err := crawl.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		_, err = crawl.Run(t.Context(), c, []uri.URI{uri.MustParse(site.URL + "/")}, &crawl.Options{State: st,
			Visit: func(ctx context.Context, p *crawl.Page) error {
				if p.Depth > 0 && full.Load() {
					return &fetch.Error{Code: fetch.ErrFile, Err: syscall.ENOSPC}
				}
				return p.Read(ctx)
			},
			Ended: func(p *crawl.Page, err error) { done = append(done, p.URL.Path()) },
		})
		return err
	}
	if err := run(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("full disk: %v", err)
	}
	full.Store(false)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(done)
	if want := []string{"/", "/a", "/b"}; !slices.Equal(done, want) {
		t.Errorf("visited %q, want %q", done, want)
	}
}

func TestEnoughStopsCrawlThatCanBeResumed(t *testing.T) {
	t.Parallel()
	site := newSite(t, map[string]string{"/": `<a href=/a></a><a href=/b></a>`, "/a": "a", "/b": "b"})
	c := fetch.New(nil, httpdriver.Load)
	defer c.Close()
	st, err := crawl.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for n := range 3 {
		var ended, waiting atomic.Int64
		_, err := crawl.Run(t.Context(), c, []uri.URI{uri.MustParse(site.URL + "/")}, &crawl.Options{State: st,
			Schedule: schedule.Options{Parallel: 1},
			Enough:   func() bool { return ended.Load() > 0 },
			Ended:    func(*crawl.Page, error) { ended.Add(1) },
			Waiting:  waiting.Store,
		})
		if want := int64(2 - n); waiting.Load() != want || st.Waiting() != want {
			t.Errorf("run %d: waiting %d and %d, want %d", n, waiting.Load(), st.Waiting(), want)
		}
		if last := n == 2; ended.Load() != 1 || (err == nil) != last || !last && !errors.Is(err, crawl.ErrEnough) || st.Continues() == last {
			t.Errorf("run %d: %d visits, %v, continues: %v", n, ended.Load(), err, st.Continues())
		}
	}
}

func TestStateIsLocked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state")
	st, err := crawl.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crawl.Open(file); !errors.Is(err, crawl.ErrInUse) || fetch.CodeOf(err) != fetch.ErrFile {
		t.Errorf("state in use: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = crawl.Open(file); err != nil {
		t.Fatal(err)
	}
	st.Close()
}

// TestQueueBeyondMemory crawls more URLs, on more hosts, than fit in memory.
func TestQueueBeyondMemory(t *testing.T) {
	fetchtest.Long(t)
	t.Parallel()
	const hosts, perHost = crawl.MaxHosts + 500, 3
	w := newWorld(rand.New(rand.NewPCG(1, 1)), 1, 1)
	seed := "x-sim://start/"
	for i := range hosts {
		for j := range perHost {
			w.links[seed] = append(w.links[seed], fmt.Sprintf("x-sim://h%d/%d", i, j))
		}
	}
	for i := range crawl.MaxItems + 500 {
		w.links[seed] = append(w.links[seed], fmt.Sprintf("x-sim://big/%d", i))
	}
	w.refuseOneIn, w.latency = 0, 0
	for _, to := range w.links[seed] {
		w.links[to] = nil
	}
	c := w.client()
	defer c.Close()
	st, err := crawl.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	st.NoSync()
	report, err := crawl.Run(t.Context(), c, []uri.URI{uri.MustParse(seed)}, &crawl.Options{State: st,
		Scope: crawl.Scope{SpanHosts: true}, Schedule: schedule.Options{Parallel: 8},
		Ended: func(*crawl.Page, error) {
			if items, hosts := st.InMemory(); hosts > crawl.MaxHosts || items > crawl.MaxItems+crawl.MaxHosts*crawl.MaxHot {
				t.Errorf("%d items of %d hosts are in memory", items, hosts)
			}
		}})
	if want := int64(hosts*perHost + crawl.MaxItems + 500 + 1); err != nil || report.Visited != want {
		t.Errorf("%+v, %v; want %d visits", report, err, want)
	}
	for url, n := range w.responses {
		if n != 1 {
			t.Errorf("%s was visited %d times", url, n)
		}
	}
}

// TestMovedSeedAfterResume interrupts a crawl whose seed redirected to another server. The resumed
// crawl follows the links of that server. It sends the login only to the original server.
func TestMovedSeedAfterResume(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, login string
		otherServer bool
	}{
		{"to another server", "", true},
		{"to another server, with a login", "me:secret@", true},
		{"on the same server, with a login", "me:secret@", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			target := newSite(t, map[string]string{"/new/": `<a href=a>a</a> <a href=/out>out</a>`, "/new/a": `<a href=b>b</a>`, "/new/b": "b", "/out": "out"})
			start, to := target, "/new/"
			if tt.otherServer {
				to = target.URL + "/new/"
				start = newSite(t, map[string]string{"/old/x": "->" + to})
			} else {
				target.Config.Handler = redirecting("/old/x", to, target.Config.Handler)
			}
			c := fetch.New(nil, httpdriver.Load)
			defer c.Close()
			file := filepath.Join(t.TempDir(), "state")
			seed := uri.MustParse(strings.Replace(start.URL, "//", "//"+tt.login, 1) + "/old/x")
			var visited []string
			run := func(maxVisits int) error {
				st, err := crawl.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				defer st.Close()
				n := 0
				_, err = crawl.Run(t.Context(), c, []uri.URI{seed}, &crawl.Options{State: st, NoRobots: true,
					Scope: crawl.Scope{NoParent: true}, Schedule: schedule.Options{Parallel: 1},
					Enough: func() bool { return n >= maxVisits },
					Ended: func(p *crawl.Page, err error) {
						if !p.Target.IsZero() {
							return
						}
						n++
						if login := p.URL.Redacted() != p.URL.WithoutUserinfo().String(); err != nil || login != (tt.login != "" && !tt.otherServer) {
							t.Errorf("%s: %v", p.URL, err)
						}
						visited = append(visited, p.URL.Path())
					}})
				return err
			}
			if err := run(1); !errors.Is(err, crawl.ErrEnough) {
				t.Fatal(err)
			}
			if err := run(10); err != nil {
				t.Fatal(err)
			}
			if want := []string{"/new/", "/new/a", "/new/b"}; !slices.Equal(visited, want) {
				t.Errorf("visited %q, want %q", visited, want)
			}
		})
	}
}

// redirecting redirects from to to and passes other paths to h.
func redirecting(from, to string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == from {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		h.ServeHTTP(w, r)
	})
}
