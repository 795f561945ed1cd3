package mirror_test

import (
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
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
