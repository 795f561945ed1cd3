package crawl_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

// A countingSite counts the requests for newSite.
func countingSite(t *testing.T, pages map[string]string) (site *httptest.Server, requests func() map[string]int) {
	var lock sync.Mutex
	counts := map[string]int{}
	site = newSite(t, pages)
	handler := site.Config.Handler
	site.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		counts[r.URL.RequestURI()]++
		lock.Unlock()
		handler.ServeHTTP(w, r)
	})
	return site, func() map[string]int {
		lock.Lock()
		defer lock.Unlock()
		return maps.Clone(counts)
	}
}

func TestRedirectTargetsAreRequestedOnce(t *testing.T) {
	t.Parallel()
	site, requests := countingSite(t, map[string]string{"/": `<a href=/o1></a><a href=/new></a><a href=/o2></a><a href=/o3></a>`,
		"/o1": "->/new", "/o2": "->/new", "/o3": "->/o1", "/new": "<a href=/x></a>", "/x": "x"})
	done, _ := visits(t, site, "/", crawl.Options{})
	if want := []string{"/", "/new", "/x"}; !slices.Equal(done, want) {
		t.Errorf("visited %q, want %q", done, want)
	}
	for url, n := range requests() {
		if n != 1 {
			t.Errorf("%d requests for %s", n, url)
		}
	}
}

func TestRedirectsOutOfScopeAreNotFollowed(t *testing.T) {
	t.Parallel()
	other, requests := countingSite(t, map[string]string{"/": "other"})
	site, ownRequests := countingSite(t, map[string]string{"/robots.txt": "User-agent: *\nDisallow: /secret",
		"/d/":     `<a href=away></a><a href=up></a><a href=secret></a>`,
		"/d/away": "->" + other.URL + "/", "/d/up": "->/up", "/d/secret": "->/d/../secret"})
	_, left := visits(t, site, "/d/", crawl.Options{Scope: crawl.Scope{NoParent: true}})
	if got := requests(); len(got) > 0 {
		t.Errorf("requests to another host: %v", got)
	}
	if n := ownRequests()["/up"]; n > 0 || left["/up"] != "parent" || left[other.URL+"/"] != "host" {
		t.Errorf("%d requests for /up; unfollowed %v", n, left)
	}
	_, left = visits(t, site, "/d/", crawl.Options{})
	if n := ownRequests()["/secret"]; n > 0 || left["/secret"] != "robots" {
		t.Errorf("%d requests for /secret; unfollowed %v", n, left)
	}
}

// TestRedirectsThatSetCookies crawls a site that shows pages only to clients with a cookie.
func TestRedirectsThatSetCookies(t *testing.T) {
	t.Parallel()
	for _, seed := range []string{"/", "/start"} {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := r.Cookie("seen")
			switch {
			case r.URL.Path == "/robots.txt":
				http.NotFound(w, r)
			case r.URL.Path == "/start":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, `<a href=/></a>`)
			case r.URL.Path == "/set":
				http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1", Path: "/"})
				http.Redirect(w, r, r.URL.Query().Get("back"), http.StatusFound)
			case err != nil:
				http.Redirect(w, r, "/set?back="+r.URL.Path, http.StatusFound)
			default:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, `<a href=/a></a>`)
			}
		}))
		t.Cleanup(site.Close)
		done, _ := visits(t, site, seed, crawl.Options{})
		if !slices.Contains(done, "/a") || !slices.Contains(done, "/") {
			t.Errorf("from %s: visited %q", seed, done)
		}
	}
}

func TestRedirectsAreLimited(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"/": "<a href=/loop></a><a href=/0></a>", "/loop": "->/pool", "/pool": "->/loop", "/12": "the end"}
	for i := range 12 {
		pages[fmt.Sprintf("/%d", i)] = fmt.Sprintf("->/%d", i+1)
	}
	tests := []struct {
		limit int
		want  []string
	}{
		{0, []string{"/", "/10 redirect", "/loop redirect"}},
		{3, []string{"/", "/3 redirect", "/pool redirect"}},
		{12, []string{"/", "/12", "/loop redirect"}},
		{-1, []string{"/", "/12"}},
	}
	for _, tt := range tests {
		done, _ := visits(t, newSite(t, pages), "/", crawl.Options{MaxRedirects: tt.limit})
		if !slices.Equal(done, tt.want) {
			t.Errorf("limit %d: visited %q, want %q", tt.limit, done, tt.want)
		}
	}
}

// A crawl that is interrupted at a redirect resumes at its target.
func TestRedirectAfterResume(t *testing.T) {
	t.Parallel()
	site, requests := countingSite(t, map[string]string{"/": "<a href=/o></a>", "/o": "->/p", "/p": "->/new", "/new": "new"})
	c := fetch.New(nil, httpdriver.Load)
	defer c.Close()
	file := filepath.Join(t.TempDir(), "state")
	var froms []string
	for n := range 10 {
		st, err := crawl.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = crawl.Run(t.Context(), c, []uri.URI{uri.MustParse(site.URL + "/")}, &crawl.Options{State: st, NoRobots: true,
			Schedule: schedule.Options{Parallel: 1}, Enough: func() bool { return len(requests()) > n }, // one request in each run
			Ended: func(p *crawl.Page, err error) {
				if !p.Target.IsZero() {
					return
				}
				froms = append(froms, p.URL.Path()+" from "+strings.TrimPrefix(p.From.String(), site.URL))
			}})
		st.Close()
		if err == nil {
			if n == 0 {
				t.Error("the crawl was not interrupted")
			}
			break
		}
	}
	if want := []string{"/ from ", "/new from /"}; !slices.Equal(froms, want) {
		t.Errorf("visited %q, want %q", froms, want)
	}
	for url, n := range requests() {
		if n != 1 {
			t.Errorf("%d requests for %s", n, url)
		}
	}
}
