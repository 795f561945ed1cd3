package mirror_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// interrupt starts a mirror and interrupts it after the first event.
func interrupt(t *testing.T, dir string, opts mirror.Options, seeds ...string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := fetch.New(nil, drivers)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts.Ended = func(mirror.Event) { cancel() }
	opts.Crawl.Schedule.Parallel = 1
	var list []uri.URI
	for _, seed := range seeds {
		list = append(list, uri.MustParse(seed))
	}
	if _, err := mirror.Run(ctx, &download.Downloader{Client: c, Root: root}, list, &opts); fetch.CodeOf(err) != fetch.ErrInterrupted {
		t.Fatal(err)
	}
}

func TestResumeNeedsSameKindAndSeeds(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: newTree()})
	newer, once, spider, page := noHost(), noHost(), noHost(), noHost()
	once.Newer, spider.Spider, page.Crawl.Scope.SeedsOnly = false, true, true
	for name, test := range map[string]struct {
		first, second mirror.Options
		path          string // the seed of the second run below the server root; "" is the seed of the first run
		continued     bool
		left          []string // suffixes of the state files after the second run
	}{
		"same options":                 {first: newer, second: newer, continued: true, left: []string{".state"}},
		"same options, state not kept": {first: once, second: once, continued: true},
		"another path":                 {first: newer, second: newer, path: "z/", left: []string{".state", "%001.state"}},
		"another path, state not kept": {first: newer, second: once, path: "z/", left: []string{".state"}},
		"another kind":                 {first: newer, second: once, left: []string{".state"}},
		"another kind, state kept":     {first: once, second: newer, left: []string{".state", "%001.state"}},
		"seeds only":                   {first: newer, second: page, left: []string{".state", "%001.state"}},
		"spider":                       {first: newer, second: spider, left: []string{".state"}},
		"two spiders":                  {first: spider, second: spider, path: "z/", left: []string{".spider"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			interrupt(t, dir, test.first, s.URL+"/")
			if _, r := run(t, dir, s.URL+"/"+test.path, test.second); r.Continued != test.continued {
				t.Errorf("second run continued: %v", r.Continued)
			}
			var left []string
			for _, name := range stateFiles(t, dir) {
				left = append(left, strings.TrimPrefix(filepath.Base(name), strings.ReplaceAll(strings.TrimPrefix(s.URL, "ftp://"), ":", "+")))
			}
			slices.Sort(left)
			slices.Sort(test.left)
			if !slices.Equal(left, test.left) {
				t.Errorf("state files %q, want %q", left, test.left)
			}
			if test.continued {
				return
			}
			if _, r := run(t, dir, s.URL+"/", test.first); !r.Continued {
				t.Error("first mirror was not resumed")
			}
		})
	}
}

func TestMirrorResumesWithMoreSeeds(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: newTree()})
	dir := t.TempDir()
	interrupt(t, dir, noHost(), s.URL+"/d/")
	interrupt(t, dir, noHost(), s.URL+"/d/", s.URL+"/z/")
	if names := stateFiles(t, dir); len(names) != 1 {
		t.Errorf("state files %q", names)
	}
}

func TestStatesOfOlderVersionsResume(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: newTree()})
	dir := t.TempDir()
	interrupt(t, dir, noHost(), s.URL+"/")
	st, err := crawl.Open(stateFiles(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	st.Disclaim("k:") // states of older versions have no kind
	st.Close()
	if _, r := run(t, dir, s.URL+"/z/", noHost()); r.Continued {
		t.Error("resumed the mirror of another seed")
	}
	if _, r := run(t, dir, s.URL+"/", noHost()); !r.Continued {
		t.Error("mirror was not resumed")
	}
}

func TestStateFileOfAnotherTreeIsRefused(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: newTree()})
	dir := t.TempDir()
	opts := noHost()
	opts.State = filepath.Join(t.TempDir(), "state")
	interrupt(t, dir, opts, s.URL+"/")
	_, _, err := tryRun(t, dir, s.URL+"/z/", opts)
	if fetch.CodeOf(err) != fetch.ErrFile || !strings.Contains(err.Error(), "state file of another unfinished mirror") {
		t.Errorf("%v", err)
	}
	if _, r := run(t, dir, s.URL+"/", opts); !r.Continued {
		t.Error("mirror was not resumed")
	}
	if _, r := run(t, dir, s.URL+"/z/", opts); r.Continued {
		t.Error("resumed a complete mirror")
	}
}
