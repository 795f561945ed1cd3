package mirror_test

import "testing"

func TestPagesNotAcceptedAreOnlyRead(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/start": "->/d/", "/d/": `<a href=a.html>a</a> <a href=b.zip>b</a> <a href=away>away</a>`,
		"/d/a.html": `<a href=c.zip>c</a>`, "/d/b.zip": "b", "/d/c.zip": "c", "/d/away": "->/d/x.html", "/d/x.html": "x"}
	site, _ := pages(t, texts)
	for seed, want := range map[string]map[string]string{
		"/start":  {"d/b.zip": "b", "d/c.zip": "c"},
		"/d/":     {"d/b.zip": "b", "d/c.zip": "c"},
		"/d/away": {}, // redirects to a page that is not accepted
	} {
		dir := t.TempDir()
		for range 2 {
			opts := noHost()
			opts.Crawl.Scope.Accept = []string{".zip"}
			run(t, dir, site.URL+seed, opts)
			compare(t, seed, files(t, dir), want)
		}
	}
}
