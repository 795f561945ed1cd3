package mirror_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
)

// A site serves texts by path. A text that begins with "<" is HTML.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	texts  map[string]string
	tagged bool // responses have entity tags
	sent   int  // responses with content
}

func newSite(t *testing.T, texts map[string]string, tagged bool) *site {
	s := &site{texts: texts, tagged: tagged}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.texts[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	if strings.HasPrefix(text, "<") {
		w.Header().Set("Content-Type", "text/html")
	}
	if tag := fmt.Sprintf("%q", text); s.tagged {
		if w.Header().Set("ETag", tag); r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	s.sent++
	fmt.Fprint(w, text)
}

// mirrorPaths mirrors paths of a site, one after the other.
func (s *site) mirrorPaths(t *testing.T, dir string, opts mirror.Options, paths ...string) *mirror.Report {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := fetch.New(nil, drivers)
	defer c.Close()
	opts.Crawl.Schedule.Parallel, opts.Crawl.NoRobots = 1, true
	var seeds []uri.URI
	for _, p := range paths {
		seeds = append(seeds, uri.MustParse(s.URL+p))
	}
	r, err := mirror.Run(t.Context(), &download.Downloader{Client: c, Root: root}, seeds, &opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// permutations yields the orders of a list.
func permutations(list []string) (all [][]string) {
	if len(list) == 0 {
		return [][]string{nil}
	}
	for i, first := range list {
		for _, rest := range permutations(slices.Concat(list[:i], list[i+1:])) {
			all = append(all, append([]string{first}, rest...))
		}
	}
	return all
}

// TestPathsAreSettled retrieves URLs that prefer the same path, in any order. The files do not depend
// on it. The next run keeps them, and retrieves nothing if there are entity tags.
func TestPathsAreSettled(t *testing.T) {
	t.Parallel()
	plain, extend, flat := noHost(), noHost(), noHost()
	extend.Extend, flat.Layout.Flat = true, true
	converted := noHost()
	converted.Convert, converted.Originals = true, true
	for name, tt := range map[string]struct {
		opts  mirror.Options
		texts map[string]string
		want  map[string]string
	}{
		"same content": {plain, map[string]string{"/d/": "<p>d", "/d/index.html": "<p>d"}, map[string]string{"d/index.html": "<p>d"}},
		"other content": {plain, map[string]string{"/d/": "<p>slash", "/d/index.html": "<p>name"},
			map[string]string{"d/index.html": "<p>slash", "d/index.1.html": "<p>name"}},
		"only the name": {plain, map[string]string{"/d/index.html": "<p>name"}, map[string]string{"d/index.html": "<p>name"}},
		"the alternative is a name, too": {plain, map[string]string{"/d/": "<p>slash", "/d/index.html": "<p>name", "/d/index.1.html": "<p>1"},
			map[string]string{"d/index.html": "<p>slash", "d/index.1.html": "<p>1", "d/index.2.html": "<p>name"}},
		"page and directory":     {plain, map[string]string{"/a": "<p>a", "/a/b": "b"}, map[string]string{"a/index.html": "<p>a", "a/b": "b"}},
		"document and directory": {plain, map[string]string{"/x.txt": "x", "/x.txt/b": "b"}, map[string]string{"x.1.txt": "x", "x.txt/b": "b"}},
		"the alternative of a document is a name, too": {plain, map[string]string{"/x": "x", "/x/b": "b", "/x.1": "1"},
			map[string]string{"x.1": "1", "x.2": "x", "x/b": "b"}},
		"page, directory and its pages": {plain, map[string]string{"/a": "<p>a", "/a/b": "b", "/a/": "<p>a/", "/a/index.html": "<p>index"},
			map[string]string{"a/index.html": "<p>a/", "a/index.1.html": "<p>index", "a/index.2.html": "<p>a", "a/b": "b"}},
		"page and directory, same content": {plain, map[string]string{"/a": "<p>a", "/a/b": "b", "/a/": "<p>a"},
			map[string]string{"a/index.html": "<p>a", "a/b": "b"}},
		"added extension": {extend, map[string]string{"/x": "<p>x", "/x.html": "<p>x.html", "/a": "<p>a", "/a/b": "b"},
			map[string]string{"x.html": "<p>x.html", "x.1.html": "<p>x", "a.html": "<p>a", "a/b": "b"}},
		"flat": {flat, map[string]string{"/d/x.txt": "d", "/e/x.txt": "e", "/x.txt": "root"},
			map[string]string{"x.txt": "d", "x.1.txt": "e", "x.2.txt": "root"}},
		"converted": {converted, map[string]string{"/d/": "<a href=.>d</a>", "/d/index.html": "<a href=.>d</a>", "/e": "<a href=d/index.html>d</a>"},
			map[string]string{"d/index.html": `<a href="index.html">d</a>`, "d/index.html.orig": "<a href=.>d</a>",
				"e": `<a href="d/index.html">d</a>`, "e.orig": "<a href=d/index.html>d</a>"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paths []string
			for p := range tt.texts {
				paths = append(paths, p)
			}
			slices.Sort(paths)
			settle := func(t *testing.T, i int, order []string) {
				t.Helper()
				s := newSite(t, tt.texts, i%2 == 0)
				dir := t.TempDir()
				s.mirrorPaths(t, dir, tt.opts, order...)
				compare(t, fmt.Sprint(order), files(t, dir), tt.want)
				for range 2 {
					s.sent = 0
					slices.Reverse(order)
					if s.mirrorPaths(t, dir, tt.opts, order...); s.tagged && s.sent > 0 {
						t.Errorf("%v: %d responses with content in a later run", order, s.sent)
					}
					compare(t, fmt.Sprint(order)+", again", files(t, dir), tt.want)
				}
				s.Close()
			}
			orders := permutations(paths)
			for i, order := range orders {
				if len(orders) <= 6 || i%3 == 0 {
					settle(t, i, order)
				}
			}
			t.Run("the other orders of many", func(t *testing.T) {
				fetchtest.Long(t)
				for i, order := range orders {
					if len(orders) > 6 && i%3 != 0 {
						settle(t, i, order)
					}
				}
			})
		})
	}
}

// TestSharedFileSeparates changes one of two URLs that share a file, and removes one of them. Both are
// start URLs, so no file is removed.
func TestSharedFileSeparates(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change map[string]string // "" removes the URL
		want   map[string]string
	}{
		"name":           {map[string]string{"/d/index.html": "<p>new"}, map[string]string{"d/index.html": "<p>d", "d/index.1.html": "<p>new"}},
		"slash":          {map[string]string{"/d/": "<p>new"}, map[string]string{"d/index.html": "<p>new", "d/index.1.html": "<p>d"}},
		"both":           {map[string]string{"/d/": "<p>new", "/d/index.html": "<p>new"}, map[string]string{"d/index.html": "<p>new"}},
		"name removed":   {map[string]string{"/d/index.html": ""}, map[string]string{"d/index.html": "<p>d"}},
		"slash removed":  {map[string]string{"/d/": ""}, map[string]string{"d/index.html": "<p>d"}},
		"both removed":   {map[string]string{"/d/": "", "/d/index.html": ""}, map[string]string{"d/index.html": "<p>d"}},
		"nothing at all": {nil, map[string]string{"d/index.html": "<p>d"}},
	} {
		for _, order := range permutations([]string{"/d/", "/d/index.html"}) {
			t.Run(name+" "+order[0]+" first", func(t *testing.T) {
				t.Parallel()
				s := newSite(t, map[string]string{"/d/": "<p>d", "/d/index.html": "<p>d"}, true)
				dir, opts := t.TempDir(), noHost()
				opts.Delete = true
				s.mirrorPaths(t, dir, opts, order...)
				compare(t, "first run", files(t, dir), map[string]string{"d/index.html": "<p>d"})
				for p, text := range tt.change {
					if s.texts[p] = text; text == "" {
						delete(s.texts, p)
					}
				}
				for _, run := range []string{"second run", "third run"} {
					s.mirrorPaths(t, dir, opts, order...)
					compare(t, run, files(t, dir), tt.want)
				}
			})
		}
	}
}

// TestSettledPathsAreKept finds a URL in a later run that would have had the path of another one.
func TestSettledPathsAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"/d/": "<p>slash", "/d/index.html": "<p>name", "/a": "<p>a"}, true)
	dir := t.TempDir()
	s.mirrorPaths(t, dir, noHost(), "/d/index.html", "/a")
	s.mirrorPaths(t, dir, noHost(), "/d/", "/d/index.html", "/a")
	want := map[string]string{"d/index.html": "<p>name", "d/index.1.html": "<p>slash", "a": "<p>a"}
	compare(t, "second run", files(t, dir), want)
	s.texts["/a/b"] = "b"
	s.mirrorPaths(t, dir, noHost(), "/a/b", "/d/", "/d/index.html", "/a")
	delete(want, "a")
	want["a/index.html"], want["a/b"] = "<p>a", "b"
	compare(t, "third run", files(t, dir), want)
}

// state opens the state of a mirror of s in dir.
func (s *site) state(t *testing.T, dir string) *crawl.State {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, ".urlget", "*.state"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	state, err := crawl.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// TestInterruptedMoves completes moves that a crash interrupted: two files exchange their paths, and
// one is removed because it is the same as another.
func TestInterruptedMoves(t *testing.T) {
	t.Parallel()
	const aside = ".urlget-"
	texts := map[string]string{"/d/x.txt": "x", "/d/y.txt": "y", "/d/": "<p>d", "/d/index.html": "<p>d"}
	for name, crash := range map[string]struct {
		aside bool
		files map[string]string // on disk after the crash; X and Y stand for the temporary names
	}{
		"before the first rename":   {false, map[string]string{"x.txt": "y", "y.txt": "x", "index.html": "<p>d", "index.1.html": "<p>d"}},
		"one file aside":            {false, map[string]string{"X": "x", "x.txt": "y", "index.html": "<p>d", "index.1.html": "<p>d"}},
		"all aside, not recorded":   {false, map[string]string{"X": "x", "Y": "y", "index.html": "<p>d"}},
		"all aside":                 {true, map[string]string{"X": "x", "Y": "y", "index.html": "<p>d"}},
		"one file in its place":     {true, map[string]string{"x.txt": "x", "Y": "y", "index.html": "<p>d"}},
		"both files in their place": {true, map[string]string{"x.txt": "x", "y.txt": "y", "index.html": "<p>d"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, texts, true)
			dir := t.TempDir()
			paths := []string{"/d/x.txt", "/d/y.txt", "/d/", "/d/index.html"}
			s.mirrorPaths(t, dir, noHost(), paths...)
			want := files(t, dir)
			key := func(p string) string { return uri.MustParse(s.URL + p).Key() }
			temporary := map[string]string{"X": mirror.TemporaryName("d/y.txt", key("/d/x.txt")), "Y": mirror.TemporaryName("d/x.txt", key("/d/y.txt"))}
			times := map[string]time.Time{} // by content
			for f, text := range want {
				info, err := os.Stat(filepath.Join(dir, f))
				if err != nil {
					t.Fatal(err)
				}
				times[text] = info.ModTime()
				os.Remove(filepath.Join(dir, f))
			}
			for f, text := range crash.files {
				f = "d/" + f
				if full, ok := temporary[f[2:]]; ok {
					f = full
				}
				f = filepath.Join(dir, f)
				if err := errors.Join(os.WriteFile(f, []byte(text), 0o644), os.Chtimes(f, times[text], times[text])); err != nil {
					t.Fatal(err)
				}
			}
			state := s.state(t, dir)
			claims := map[string]string{
				"m:" + key("/d/x.txt"):      "d/y.txt\x00d/x.txt\x00",
				"m:" + key("/d/y.txt"):      "d/x.txt\x00d/y.txt\x00",
				"m:" + key("/d/index.html"): "d/index.1.html\x00d/index.html\x00" + key("/d/"),
			}
			if crash.aside {
				claims["n:"] = "2"
			}
			for name, owner := range claims {
				if got, err := state.Claim(name, owner); err != nil || got != owner {
					t.Fatal(got, err)
				}
			}
			state.Close()
			s.sent = 0
			if s.mirrorPaths(t, dir, noHost(), paths...); s.sent > 0 {
				t.Errorf("%d responses with content", s.sent)
			}
			compare(t, name, files(t, dir), want)
			left, _ := filepath.Glob(filepath.Join(dir, "d", aside+"*"))
			if len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			state = s.state(t, dir)
			defer state.Close()
			for _, prefix := range []string{"a:", "p:", "m:", "n:"} {
				for name := range state.Names(prefix) {
					t.Errorf("the state has %q", name)
				}
			}
		})
	}
}

// TestInterruptedRename resumes after a crash in which a file was renamed to make way for a directory.
func TestInterruptedRename(t *testing.T) {
	t.Parallel()
	for _, renamed := range []bool{false, true} {
		s := newSite(t, map[string]string{"/a": "<p>a", "/a/b": "b"}, true)
		dir := t.TempDir()
		s.mirrorPaths(t, dir, noHost(), "/a")
		key := uri.MustParse(s.URL + "/a").Key()
		state := s.state(t, dir)
		for name, owner := range map[string]string{"f:a%001": key, "a:" + key: "a", "m:" + key: "a\x00a%001\x00"} {
			if _, err := state.Claim(name, owner); err != nil {
				t.Fatal(err)
			}
		}
		state.Close()
		if renamed {
			a := filepath.Join(dir, "a")
			if err := errors.Join(os.Rename(a, a+"%001"), os.Mkdir(a, 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		s.sent = 0
		if s.mirrorPaths(t, dir, noHost(), "/a", "/a/b"); s.sent != 1 {
			t.Errorf("%d responses with content", s.sent)
		}
		compare(t, fmt.Sprint("renamed ", renamed), files(t, dir), map[string]string{"a/index.html": "<p>a", "a/b": "b"})
	}
}

// TestOldLayout updates a mirror with the names of layout 1. Its files are renamed, and none is
// retrieved again.
func TestOldLayout(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/d/": "<p>slash", "/d/index.html": "<p>name", "/e/index.html": "<p>e", "/a": "<p>a", "/a/b": "b", "/x.txt": "x", "/x.txt/y": "y"}
	paths := []string{"/d/", "/d/index.html", "/e/index.html", "/a", "/a/b", "/x.txt", "/x.txt/y"}
	oldNames := map[string]string{"/d/index.html": "d/index%2Ehtml", "/e/index.html": "e/index%2Ehtml", "/a": "a%001", "/x.txt": "x%001.txt"}
	s := newSite(t, texts, true)
	dir := t.TempDir()
	s.mirrorPaths(t, dir, noHost(), paths...)
	want := files(t, dir)
	compare(t, "new", want, map[string]string{"d/index.html": "<p>slash", "d/index.1.html": "<p>name", "e/index.html": "<p>e", "a/index.html": "<p>a", "a/b": "b",
		"x.1.txt": "x", "x.txt/y": "y"})
	state := s.state(t, dir)
	for p, name := range oldNames {
		u := uri.MustParse(s.URL + p)
		path := mirror.MemoPath(state, u)
		if err := os.Rename(filepath.Join(dir, path), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		mirror.SetOldPath(state, u, name)
	}
	state.Disclaim("l:")
	state.Close()
	s.sent = 0
	if s.mirrorPaths(t, dir, noHost(), paths...); s.sent > 0 {
		t.Errorf("%d responses with content", s.sent)
	}
	compare(t, "renamed", files(t, dir), want)
}
