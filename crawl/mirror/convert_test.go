package mirror_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/crawl/mirror"
)

// TestPagesAreConvertedOnce mirrors a site several times. An unchanged page is converted once
// Convert is set. A converted page that is not retrieved again is not changed, because its links
// are no longer those of the server.
func TestPagesAreConvertedOnce(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href="s/">s</a> <a href=a.html>a</a>`, "/s/": `<a href=../a.html>x</a>`, "/a.html": "a"}
	converted := map[string]string{"index.html": `<a href="s/index.html">s</a> <a href="a.html">a</a>`, "s/index.html": `<a href="../a.html">x</a>`, "a.html": "a"}
	original := map[string]string{"index.html": texts["/"], "s/index.html": texts["/s/"], "a.html": "a"}
	plain := func(*mirror.Options) {}
	convert := func(o *mirror.Options) { o.Convert = true }
	convertOther := func(o *mirror.Options) { o.Convert, o.Crawl.Scope.Accept = true, []string{"a.html"} }
	keep := func(o *mirror.Options) { o.Convert, o.Keep = true, true }
	tests := []struct {
		name string
		runs []func(*mirror.Options)
		want map[string]string
	}{
		{"converted by the second run", []func(*mirror.Options){plain, convert}, converted},
		{"converted by both runs", []func(*mirror.Options){convert, convert}, converted},
		{"converted, then not accepted", []func(*mirror.Options){convert, convertOther, convertOther}, converted},
		{"converted, then kept", []func(*mirror.Options){convert, keep, keep}, converted},
		{"plain, then kept", []func(*mirror.Options){plain, keep}, original},
		{"converted, then plain", []func(*mirror.Options){convert, plain}, original},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site, _ := pages(t, texts)
			dir := t.TempDir()
			for _, set := range tt.runs {
				opts := noHost()
				set(&opts)
				run(t, dir, site.URL+"/", opts)
			}
			compare(t, tt.name, files(t, dir), tt.want)
		})
	}
}

// TestOriginalsOfEarlierVersionsAreNotUsed retrieves a converted page again without the state that knows its
// original.
func TestOriginalsOfEarlierVersionsAreNotUsed(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]mirror.Options{
		"kept":    {Convert: true, Keep: true},
		"updated": {Convert: true, Newer: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			texts := map[string]string{"/": `<a href="/a.html">old</a>`, "/a.html": "a"}
			site, _ := pages(t, texts)
			dir := t.TempDir()
			opts := noHost()
			opts.Newer, opts.Convert, opts.Originals = false, true, true
			run(t, dir, site.URL+"/", opts)
			texts["/"] = `<a href="/a.html">a new</a>`
			opts.Convert, opts.Originals = false, false
			run(t, dir, site.URL+"/", opts)
			opts.Convert, opts.Keep, opts.Newer = next.Convert, next.Keep, next.Newer
			run(t, dir, site.URL+"/", opts)
			if got := files(t, dir)["index.html"]; !strings.HasSuffix(got, ">a new</a>") {
				t.Errorf("the page is %q", got)
			}
		})
	}
}

func TestKeptPagesAreReadForLinks(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href="s/">s</a>`, "/s/": `<a href=a.html>a</a>`, "/s/a.html": "a"}
	site, responses := pages(t, texts)
	dir := t.TempDir()
	opts := noHost()
	opts.Newer, opts.Keep = false, true
	run(t, dir, site.URL+"/", opts)
	if err := os.Remove(filepath.Join(dir, "s/a.html")); err != nil {
		t.Fatal(err)
	}
	responses()
	run(t, dir, site.URL+"/", opts)
	if got := responses(); got[200] != 1 {
		t.Errorf("responses: %v, want one for the missing file", got)
	}
	compare(t, "after the second run", files(t, dir), map[string]string{"index.html": texts["/"], "s/index.html": texts["/s/"], "s/a.html": "a"})
}

// TestConvertedPagesAreRequestedForLinks mirrors with converted links and then keeps the files. The links
// of converted pages lead to files. Those of the server are in the originals or on the server, also when
// the mirrors are of different kinds, and after more than one of them.
func TestConvertedPagesAreRequestedForLinks(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href="/d/">d</a><a href="/q?x=1">q</a>`, "/d/": `<a href=a>a</a>`,
		"/d/index.html": "other", "/d/a": `<a href="/">up</a><a href=index.html>i</a>`, "/q?x=1": `<a href=deep>deep</a>`,
		"/deep": `<a href="/index.html">up</a>`, "/index.html": `<a href="/d/">d</a><a href="/q?x=1">q</a>`}
	for _, tt := range []struct {
		name  string
		first mirror.Options
	}{
		{"once", mirror.Options{Convert: true}},
		{"once, with originals", mirror.Options{Convert: true, Originals: true}},
		{"updated", mirror.Options{Convert: true, Newer: true}},
		{"updated, with originals", mirror.Options{Convert: true, Newer: true, Originals: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			texts := maps.Clone(texts)
			site, _ := pages(t, texts)
			dir := t.TempDir()
			opts := noHost()
			opts.Newer, opts.Convert, opts.Originals = tt.first.Newer, tt.first.Convert, tt.first.Originals
			run(t, dir, site.URL+"/", opts)
			want := files(t, dir)
			want["deep"] = texts["/deep"]
			for _, keep := range []mirror.Options{{}, {}, {Newer: true}, {}} {
				for _, name := range []string{"deep", "deep.orig"} {
					os.Remove(filepath.Join(dir, name))
					delete(want, "deep.orig")
				}
				opts := noHost()
				opts.Keep, opts.Newer = true, keep.Newer
				if events, r := run(t, dir, site.URL+"/", opts); r.Saved != 1 || r.Failed > 0 {
					t.Errorf("%+v, %q", r, events)
				}
				compare(t, "kept", files(t, dir), want)
			}
			delete(texts, "/index.html")
			opts = noHost()
			opts.Keep = true
			run(t, dir, site.URL+"/", opts)
			compare(t, "not found", files(t, dir), want)
		})
	}
}

// TestKeptPagesOfUnknownTypeAreReadForLinks keeps the files of a mirror that was killed before it wrote its
// state. Names do not show which of them are pages.
func TestKeptPagesOfUnknownTypeAreReadForLinks(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href=a>a</a>`, "/a": `<!doctype html><a href="b.php?c=d.png">b</a>`, "/b.php?c=d.png": `<html><img src=e.png>`,
		"/e.png": "<p><a href=f>f</a>", "/f": "plain <a href=g>g</a>"}
	for _, newer := range []bool{false, true} {
		site, responses := pages(t, texts)
		dir := t.TempDir()
		opts := noHost()
		opts.Newer = newer
		run(t, dir, site.URL+"/", opts)
		for _, name := range []string{"f", "g", ".urlget"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		responses()
		opts.Keep = true
		run(t, dir, site.URL+"/", opts)
		if got := responses(); got[200] != 1 {
			t.Errorf("responses: %v, want one for the missing file", got)
		}
		compare(t, "kept", files(t, dir), map[string]string{"index.html": texts["/"], "a": texts["/a"],
			"b.php?c=d.png": texts["/b.php?c=d.png"], "e.png": texts["/e.png"], "f": texts["/f"]})
	}
}

// TestRemovedPagesWithOriginals removes converted pages but keeps their originals. The next mirror
// either saves the pages or only reads their links.
func TestRemovedPagesWithOriginals(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href=a.html>a</a>`, "/a.html": `<a href="/">up</a>`}
	converted := map[string]string{"index.html": `<a href="a.html">a</a>`, "a.html": `<a href="index.html">up</a>`,
		"index.html.orig": texts["/"], "a.html.orig": texts["/a.html"]}
	for _, tt := range []struct {
		name   string
		accept []string
		want   map[string]string
	}{
		{"mirrored", nil, converted},
		{"not accepted", []string{"*.png"}, map[string]string{"index.html.orig": texts["/"], "a.html.orig": texts["/a.html"]}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site, _ := pages(t, texts)
			dir := t.TempDir()
			opts := noHost()
			opts.Convert, opts.Originals = true, true
			run(t, dir, site.URL+"/", opts)
			compare(t, "first run", files(t, dir), converted)
			for _, name := range []string{"index.html", "a.html"} {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			opts.Crawl.Scope.Accept = tt.accept
			run(t, dir, site.URL+"/", opts)
			compare(t, "second run", files(t, dir), tt.want)
		})
	}
}

func TestConvertSVG(t *testing.T) {
	t.Parallel()
	const picture = `<svg viewBox="0 0 9 9"><image preserveAspectRatio="none" href="/i?v=1"/><use href="#a"/></svg>`
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<img src="d/a.svg">`)
		case "/d/a.svg":
			w.Header().Set("Content-Type", "image/svg+xml")
			io.WriteString(w, picture)
		default:
			w.Header().Set("Content-Type", "image/png")
			io.WriteString(w, "i")
		}
	}))
	t.Cleanup(site.Close)
	dir := t.TempDir()
	opts := noHost()
	opts.Convert = true
	run(t, dir, site.URL+"/", opts)
	compare(t, "a picture", files(t, dir), map[string]string{"index.html": `<img src="d/a.svg">`, "i?v=1": "i",
		"d/a.svg": `<svg viewBox="0 0 9 9"><image preserveAspectRatio="none" href="../i%3Fv=1" /><use href="#a" /></svg>`})
}

// TestOriginalsAndQueries mirrors pages whose queries end as the names of originals and of partial files do.
func TestOriginalsAndQueries(t *testing.T) {
	t.Parallel()
	site, _ := pages(t, map[string]string{"/": `<a href="x?f">f</a><a href="x?f.orig">o</a><a href="x?f.part">p</a>`,
		"/x?f": `<a href="/">f</a>`, "/x?f.orig": `<a href="/">o</a>`, "/x?f.part": "part"})
	dir := t.TempDir()
	opts := noHost()
	opts.Convert, opts.Originals = true, true
	for range 2 {
		run(t, dir, site.URL+"/", opts)
		got := files(t, dir)
		delete(got, "index.html")
		delete(got, "index.html.orig")
		compare(t, "pages", got, map[string]string{"x?f": `<a href="index.html">f</a>`, "x?f.orig": `<a href="/">f</a>`,
			"x?f%2Eorig": `<a href="index.html">o</a>`, "x?f%2Eorig.orig": `<a href="/">o</a>`, "x?f%2Epart": "part", "x?f%2Epart.orig": "part"})
	}
}
