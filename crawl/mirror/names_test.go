package mirror_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
)

// TestNamesAreKept mirrors a tree again when the rules for names have changed. Its files keep their
// names.
func TestNamesAreKept(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{".hidden": {Data: []byte("hidden"), ModTime: day}, "-dash/.x": {Data: []byte("x"), ModTime: day}}
	ftp := ftpd.Start(t, ftpd.Options{Tree: tree})
	texts := map[string]string{"/": `<a href=.hidden>h</a><a href=-dash/.x>x</a>`, "/.hidden": "hidden", "/-dash/.x": "x"}
	web, _ := pages(t, texts)
	for _, seed := range []string{ftp.URL + "/", web.URL + "/"} {
		dir := t.TempDir()
		opts := noHost()
		opts.Delete = true
		run(t, dir, seed, opts)
		want := files(t, dir)
		opts.Layout = mirror.Layout{}
		events, r := run(t, dir, seed, opts)
		if r.Saved > 0 || r.Deleted > 0 || r.Failed > 0 || r.Unchanged < 2 {
			t.Errorf("%+v, %q", r, events)
		}
		compare(t, seed, files(t, dir), want)
	}
}

// TestNamesOfDocuments mirrors WAIS and Gopher documents. Their files have the names that a single
// retrieval gives them, two of one name stay apart, and a second run retrieves none. The files of a
// tree from before these names keep theirs.
func TestNamesOfDocuments(t *testing.T) {
	t.Parallel()
	wais := waisd.Start(t, waisd.Options{FreeWAIS: true, Tree: fstest.MapFS{
		"db/a/x.txt": {Data: []byte("word one\n"), ModTime: day}, "db/b/x.txt": {Data: []byte("word two\n"), ModTime: day}}})
	gopher := gopherd.Start(t, gopherd.Options{Tree: fstest.MapFS{"b.txt": {Data: []byte("b"), ModTime: day}, "d/a.txt": {Data: []byte("a"), ModTime: day}},
		Items: map[string][]string{"/": {"9b\tb.txt\t$HOST\t$PORT"}, "/d": {"9a\td/a.txt\t$HOST\t$PORT"}}})
	for seed, want := range map[string]map[bool][]string{
		wais.URL + "/db?word": {false: {"db/TEXT/x.1.txt", "db/TEXT/x.txt"}},
		gopher.URL + "/": {false: {"b.1.txt", "b.txt", "d/a.1.txt", "d/a.txt", "d/gophermap", "gophermap"},
			true: {"%00b.txt", "%00d/a.txt", "b.txt", "d/a.txt", "d/gophermap", "gophermap"}},
	} {
		for _, before := range []bool{false, true} {
			dir, opts := t.TempDir(), noHost()
			opts.Delete, opts.Layout.Distinct = true, before
			events, r := run(t, dir, seed, opts)
			first := files(t, dir)
			if paths := slices.Sorted(maps.Keys(first)); want[before] != nil && !slices.Equal(paths, want[before]) || r.Failed > 0 {
				t.Errorf("%s: files %q, want %q: %q", seed, paths, want[before], events)
			}
			opts.Layout.Distinct = false
			events, r = run(t, dir, seed, opts)
			if r.Saved > 0 || r.Deleted > 0 || r.Failed > 0 {
				t.Errorf("%s, again: %+v, %q", seed, r, events)
			}
			compare(t, seed, files(t, dir), first)
		}
	}
}

// TestNamesLikeProvisionalOnes mirrors URLs whose names look like those of files during a run. They are
// reported and kept.
func TestNamesLikeProvisionalOnes(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href="a%001">1</a><a href="a">2</a><a href="a?%001.x">3</a><a href="b%00">4</a>`,
		"/a%001": "NUL", "/a": "a", "/a?%001.x": "query", "/b%00": "b"}
	site, _ := pages(t, texts)
	dir, opts := t.TempDir(), noHost()
	opts.Newer = false
	want := map[string]string{"index.html": texts["/"], "a%25001": "NUL", "a": "a", "a?%25001.x": "query", "b%2500": "b"}
	for _, opts.Keep = range []bool{false, true} {
		events, r := run(t, dir, site.URL+"/", opts)
		if len(events) != len(want) || opts.Keep && r.Saved > 0 {
			t.Errorf("%+v, %q", r, events)
		}
		compare(t, "files", files(t, dir), want)
	}
}

// TestNumbersDoNotGrow mirrors URLs that contend for paths several times, by mirrors of every kind. The files
// keep their names, and no run adds one.
func TestNumbersDoNotGrow(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href="d/">d</a><a href="d/index.html">i</a><a href="a">a</a><a href="a/b">b</a>`,
		"/d/": "<p>slash", "/d/index.html": "<p>index", "/a": "<p>a", "/a/b": "<p>b"}
	site, _ := pages(t, texts)
	dir := t.TempDir()
	want := map[string]string{"index.html": texts["/"], "d/index.html": "<p>slash", "d/index.1.html": "<p>index", "a/index.html": "<p>a", "a/b": "<p>b"}
	for n, o := range []mirror.Options{{}, {}, {Keep: true}, {}, {Newer: true}, {Keep: true}, {Newer: true}} {
		opts := noHost()
		opts.Newer, opts.Keep = o.Newer, o.Keep
		events, r := run(t, dir, site.URL+"/", opts)
		if o.Keep && r.Saved > 0 {
			t.Errorf("run %d: %+v, %q", n, r, events)
		}
		compare(t, fmt.Sprintf("run %d", n), files(t, dir), want)
	}
}
