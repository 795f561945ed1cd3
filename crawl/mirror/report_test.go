package mirror_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
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

// reportInParts mirrors paths of a site in runs of some visits each. It returns the events of saved
// files.
func (s *site) reportInParts(t *testing.T, dir string, visits int, paths []string) (events []mirror.Event) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := fetch.New(nil, protocols.All)
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
