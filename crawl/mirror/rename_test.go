package mirror_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
)

// TestFileRenamedDuringItsVisit requests /a/b before /a is saved, and saves it while the links of /a are
// being read. The mirror must remember the new path of /a.
func TestFileRenamedDuringItsVisit(t *testing.T) {
	t.Parallel()
	requested, saved, moved := make(chan bool), make(chan bool), make(chan bool)
	receive := func(c chan bool) {
		select {
		case <-c:
		case <-time.After(5 * time.Minute):
			t.Error("timeout")
		}
	}
	var requests atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, "<a href=/a>a</a><a href=/a/b>b</a>")
		case "/a":
			receive(requested)
			fmt.Fprint(w, "<a href=http://other.example/>other</a>")
		case "/a/b":
			if requests.Add(1) == 1 {
				close(requested)
				receive(saved)
			} else {
				close(moved)
			}
			fmt.Fprint(w, "b")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	opts := noHost()
	opts.Newer, opts.Convert, opts.Crawl.NoRobots = true, true, true
	opts.Crawl.Left = func(l crawl.Link, _ crawl.Reason) {
		if l.URL.Host() == "other.example" {
			close(saved)
			receive(moved)
		}
	}
	dir := t.TempDir()
	events, _ := run(t, dir, site.URL+"/", opts)
	if got := files(t, dir)["index.html"]; got != `<a href="a/index.html">a</a><a href="a/b">b</a>` {
		t.Errorf("%q\n%q", got, events)
	}
	var paths []string
	for f, err := range mirror.Files(dir) {
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, f.Path)
	}
	if slices.Sort(paths); !slices.Equal(paths, []string{"a/b", "a/index.html", "index.html"}) {
		t.Errorf("mirror.Files yields %q", paths)
	}
}
