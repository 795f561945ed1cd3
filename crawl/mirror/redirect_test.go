package mirror_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// TestRedirectsInMirror mirrors a site with redirects twice. Each URL is requested once, and hosts
// out of scope are not contacted.
func TestRedirectsInMirror(t *testing.T) {
	t.Parallel()
	ftp := ftpd.Start(t, ftpd.Options{Tree: newTree()})
	texts := map[string]string{"/": `<a href=/o1>1</a><a href=/o2>2</a><a href=/d>d</a><a href=/new>n</a><a href=/ftp>f</a>`,
		"/o1": "->/new", "/o2": "->/o1", "/d": "->/d/", "/d/": `<a href=/new>n</a>`, "/new": "new", "/ftp": "->" + ftp.URL + "/a.txt"}
	inner, _ := pages(t, texts)
	var lock sync.Mutex
	var requests []string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		requests = append(requests, r.URL.Path)
		lock.Unlock()
		inner.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	dir := t.TempDir()
	opts := noHost()
	opts.Convert = true
	left := map[string]crawl.Reason{}
	opts.Crawl.Left = func(l crawl.Link, why crawl.Reason) { left[l.URL.String()] = why }
	for _, want := range [][]string{{"saved d/index.html", "saved index.html", "saved new"}, {"saved d/index.html", "saved index.html", "unchanged new"}} {
		requests = nil
		events, r := run(t, dir, site.URL+"/", opts)
		events = slices.DeleteFunc(events, func(s string) bool { return s == "skipped " }) // redirects
		if !slices.Equal(events, want) || r.Failed > 0 {
			t.Errorf("%q, want %q", events, want)
		}
		slices.Sort(requests)
		if all := []string{"/", "/d", "/d/", "/ftp", "/new", "/o1", "/o2", "/robots.txt"}; !slices.Equal(requests, all) {
			t.Errorf("requests %q, want %q", requests, all)
		}
		compare(t, "mirror", files(t, dir), map[string]string{"d/index.html": `<a href="../new">n</a>`, "new": "new",
			"index.html": `<a href="new">1</a><a href="new">2</a><a href="d/index.html">d</a><a href="new">n</a><a href="` + site.URL + `/ftp">f</a>`})
	}
	if log := ftp.Log(); len(log) > 0 || left[strings.TrimSuffix(ftp.URL, "/")+"/a.txt"] != crawl.OtherScheme {
		t.Errorf("FTP server received %q; unfollowed %v", log, left)
	}
}

// TestConvertedLinksThroughRedirects converts links to pages that redirect many times or name a part of
// their target. They lead to the file, and to the part that a browser shows.
func TestConvertedLinksThroughRedirects(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href=/r1>1</a><a href="/r1#a">2</a><a href=/part>3</a><a href="/part#a">4</a><a href=/top#a>5</a>`,
		"/part": "->/r2#b", "/top": "->/part", "/end": "<p id=a>", "/r9": "->/end"}
	for i := range 8 {
		texts[fmt.Sprintf("/r%d", i+1)] = fmt.Sprintf("->/r%d", i+2)
	}
	site, _ := pages(t, texts)
	dir, opts := t.TempDir(), noHost()
	opts.Convert = true
	for range 2 {
		if events, r := run(t, dir, site.URL+"/", opts); r.Failed > 0 {
			t.Errorf("%q", events)
		}
		compare(t, "mirror", files(t, dir), map[string]string{"end": "<p id=a>",
			"index.html": `<a href="end">1</a><a href="end#a">2</a><a href="end#b">3</a><a href="end#b">4</a><a href="end#b">5</a>`})
	}
}
