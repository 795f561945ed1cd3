package fetch_test

import (
	"testing"

	"github.com/urlget/urlget/fetch"
)

func TestTypeByName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"page.html":       "text/html",
		"PAGE.HTM":        "text/html",
		"dir.png/a.txt":   "text/plain",
		"dir.png/noname":  "",
		"archive.tar.gz":  "application/gzip",
		"name.":           "",
		".txt":            "text/plain",
		"":                "",
		"unknown.suffix":  "",
		"two words.woff2": "font/woff2",
	} {
		if got := fetch.TypeByName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
