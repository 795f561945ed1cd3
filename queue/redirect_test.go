package queue_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/queue"
)

// A site shows pages only to clients with a cookie, which it sets in one or two redirects. Each page
// has one result, so the last redirect is followed at once.
func TestRedirectsThatSetCookies(t *testing.T) {
	t.Parallel()
	for hops := 1; hops <= 2; hops++ {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := r.Cookie("seen")
			switch path := r.URL.Path; {
			case path == "/robots.txt":
				http.NotFound(w, r)
			case strings.HasPrefix(path, "/set") && len(path) < len("/set")+hops-1:
				http.Redirect(w, r, path+"x", http.StatusFound)
			case strings.HasPrefix(path, "/set"):
				http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1", Path: "/"})
				http.Redirect(w, r, "/", http.StatusFound)
			case err != nil:
				http.Redirect(w, r, "/set", http.StatusFound)
			default:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "%s <a href=/a></a>", path)
			}
		}))
		t.Cleanup(site.Close)
		client := fetch.New(nil, httpdriver.Load)
		h := crawlByWorkers(t, client, queue.Crawl{}, uri.MustParse(site.URL+"/"))
		client.Close()
		last := "/set" + strings.Repeat("x", hops-1)
		want := map[string]string{site.URL + last: "/ <a href=/a></a>", site.URL + "/a": "/a <a href=/a></a>"}
		if !maps.Equal(h.bodies, want) || h.ends[site.URL+"/"] != "moved" {
			t.Errorf("%d hops: saved %v, outcomes %v", hops, h.bodies, h.ends)
		}
	}
}
