package mirror_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// A file that others contend with for its path is reported once, with its final name, also if the run
// that saved it was interrupted. A file that makes way for a directory later is reported again.
func TestReportedNamesAreFinal(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": "<a>slash", "/index.html": "<a>index", "/d/": "<a>same", "/d/index.html": "<a>same",
		"/a": "a page", "/a/b": "below a", "/i": "<a>page", "/i/x": "below i"}
	for n, order := range [][]string{
		{"/", "/index.html", "/d/", "/d/index.html", "/a", "/a/b", "/i", "/i/x"},
		{"/index.html", "/", "/d/index.html", "/d/", "/a/b", "/a", "/i/x", "/i"},
	} {
		for visits := 1; visits <= len(order); visits++ {
			s, dir := newSite(t, texts, false), t.TempDir()
			events := s.reportInParts(t, dir, visits, order)
			if order[0] == "/" && events[0].URL.Path() != "/" {
				t.Errorf("order %d, %d visits: %s is reported first", n, visits, events[0].URL)
			}
			paths := map[string]string{}
			for _, e := range events {
				former := paths[e.URL.Path()]
				if visits == len(order) && e.Former != former {
					t.Errorf("order %d, %d visits: %s is %s, and later %s, formerly %q", n, visits, e.URL, former, e.Path, e.Former)
				}
				if strings.Contains(e.Path, "%00") {
					t.Errorf("order %d, %d visits: %s has the provisional name %s", n, visits, e.URL, e.Path)
				}
				paths[e.URL.Path()] = e.Path
			}
			for path, text := range texts {
				got, err := os.ReadFile(filepath.Join(dir, paths[path]))
				if err != nil || string(got) != text {
					t.Errorf("order %d, %d visits: the file of %s is %q: %q, %v", n, visits, path, paths[path], got, err)
				}
			}
		}
	}
}

// Two URLs whose queries end the name of an index page contend for it, at once or one after the other. They
// are reported once, with their final names, also if an extension is added.
func TestReportedNamesOfQueries(t *testing.T) {
	t.Parallel()
	for _, extend := range []bool{false, true} {
		for _, atOnce := range []bool{false, true} {
			var both sync.WaitGroup
			both.Add(2)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				if r.URL.RawQuery == "" {
					io.WriteString(w, `<a href="index.html?a">1</a><a href="?a">2</a>`)
					return
				}
				if atOnce {
					both.Done()
					both.Wait()
				}
				io.WriteString(w, "<p>"+r.URL.Path)
			}))
			t.Cleanup(s.Close)
			dir, opts := t.TempDir(), noHost()
			opts.Extend, opts.Crawl.NoRobots, opts.Crawl.Schedule.Host.Parallel = extend, true, 1
			want := []string{"saved index.1.html?a", "saved index.html", "saved index.html?a"}
			if extend {
				want[0], want[2] = "saved index.html?a.1.html", "saved index.html?a.html"
			}
			if atOnce {
				opts.Crawl.Schedule.Host.Parallel = 2
			}
			events, _ := run(t, dir, s.URL+"/", opts)
			slices.Sort(want)
			if slices.Sort(events); !slices.Equal(events, want) {
				t.Errorf("extend %t, at once %t: %q, want %q", extend, atOnce, events, want)
			}
			if got := files(t, dir)[strings.TrimPrefix(want[len(want)-1], "saved ")]; got != "<p>/" {
				t.Errorf("extend %t, at once %t: the page of the directory is %q", extend, atOnce, got)
			}
		}
	}
}

// reportInParts mirrors paths of a site in runs of some visits each. It returns the events of saved
// files.
func (s *site) reportInParts(t *testing.T, dir string, visits int, paths []string) (events []mirror.Event) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := fetch.New(nil, drivers)
	defer c.Close()
	var seeds []uri.URI
	for _, p := range paths {
		seeds = append(seeds, uri.MustParse(s.URL+p))
	}
	opts := mirror.Options{Ended: func(e mirror.Event) {
		if e.Outcome == job.Saved {
			events = append(events, e)
		}
	}}
	opts.Crawl.Schedule.Parallel, opts.Crawl.NoRobots = 1, true
	for {
		before := s.sent
		opts.Crawl.Enough = func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.sent >= before+visits
		}
		_, err := mirror.Run(t.Context(), &download.Downloader{Client: c, Root: root}, slices.Clone(seeds), &opts)
		if err == nil {
			return events
		}
		if !errors.Is(err, crawl.ErrEnough) {
			t.Fatal(err)
		}
	}
}

// A page that is found again with fewer links from the start is read from its file, so that the pages
// below it are found too. It is neither requested nor reported twice.
func TestNearerPagesAreReadFromTheirFiles(t *testing.T) {
	t.Parallel()
	link := func(to string) string { return "<a href=" + to + ">" + to + "</a>" }
	s := newSite(t, map[string]string{"/": link("/a") + link("/b"), "/a": link("/aa"), "/aa": link("/p"), "/p": link("/q"), "/q": link("/r"),
		"/r": "<p>end", "/b": "<p>"}, false)
	release := make(chan struct{})
	serve := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/b": // the short path to /p is found after the long one
			<-release
			s.mu.Lock()
			s.texts["/b"] = link("/p")
			s.mu.Unlock()
		case "/q":
			defer close(release)
		}
		serve.ServeHTTP(w, r)
	})
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := fetch.New(nil, drivers)
	defer c.Close()
	reported := map[string]int{}
	opts := &mirror.Options{Ended: func(e mirror.Event) { reported[e.URL.Path()]++ }}
	opts.Crawl.Scope.MaxDepth, opts.Crawl.NoRobots = 4, true
	opts.Crawl.Schedule.Host.Parallel = 2
	if _, err := mirror.Run(t.Context(), &download.Downloader{Client: c, Root: root}, []uri.URI{uri.MustParse(s.URL + "/")}, opts); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/a", "/aa", "/b", "/p", "/q", "/r"} {
		if reported[path] != 1 {
			t.Errorf("%s was reported %d times", path, reported[path])
		}
	}
	if s.sent != 7 {
		t.Errorf("%d responses, want 7", s.sent)
	}
}
