package mirror_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestErrorPagesAreSavedAndLinked mirrors a site with pages that are not found. The pages become files that
// converted links lead to, and never replace or hide the content of another URL.
func TestErrorPagesAreSavedAndLinked(t *testing.T) {
	t.Parallel()
	const notFound = "404 page not found\n"
	texts := map[string]string{
		"/":   `<a href="b/y">y</a> <a href="i.png">i</a> <a href="d/">d</a> <a href="d/index.html">e</a> <a href=x>x</a>`,
		"/d/": "directory", "/x": "x",
	}
	want := map[string]string{"b/y": notFound, "i.png": notFound, "d/index.html": "directory", "d/index.1.html": notFound, "x": "x",
		"index.html": `<a href="b/y">y</a> <a href="i.png">i</a> <a href="d/index.html">d</a> <a href="d/index.1.html">e</a> <a href="x">x</a>`}
	site, _ := pages(t, texts)
	dir := t.TempDir()
	opts := noHost()
	opts.Convert, opts.ErrorPages = true, true
	run(t, dir, site.URL+"/", opts)
	compare(t, "pages that are not found", files(t, dir), want)

	opts.Delete = true
	events, r := run(t, dir, site.URL+"/", opts)
	compare(t, "the same pages again", files(t, dir), want)
	if r.Deleted != 0 {
		t.Errorf("deleted %d: %q", r.Deleted, events)
	}

	texts["/b/y"], texts["/i.png"], texts["/d/index.html"] = "found", "an image", "directory"
	delete(texts, "/x")
	now := maps.Clone(want)
	now["b/y"], now["i.png"], now["d/index.1.html"] = "found", "an image", "directory"
	delete(now, "x")
	now["index.html"] = `<a href="b/y">y</a> <a href="i.png">i</a> <a href="d/index.html">d</a> <a href="d/index.1.html">e</a> <a href="` + site.URL + `/x">x</a>`
	run(t, dir, site.URL+"/", opts)
	compare(t, "later", files(t, dir), now)
}

// TestErrorPageOfADirectory saves an error page whose path is a directory of the user.
func TestErrorPageOfADirectory(t *testing.T) {
	t.Parallel()
	site, _ := pages(t, map[string]string{"/": `<a href="b">b</a>`})
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "b", "own"), 0o700); err != nil {
		t.Fatal(err)
	}
	opts := noHost()
	opts.Convert, opts.ErrorPages = true, true
	events, _ := run(t, dir, site.URL+"/", opts)
	if want := []string{"failed not_found /b", "saved index.html"}; !slices.Equal(events, want) {
		t.Errorf("%q, want %q", events, want)
	}
	compare(t, "a directory", files(t, dir), map[string]string{"index.html": `<a href="b.1">b</a>`, "b.1": "404 page not found\n"})
}
