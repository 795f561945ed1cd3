package links_test

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

func TestColonsInRelativePaths(t *testing.T) {
	t.Parallel()
	base := uri.MustParse("http://h/d/")
	for ref, want := range map[string]string{
		"site;sub:page.html": "http://h/d/site;sub:page.html",
		"1a:b":               "http://h/d/1a:b",
		"a_b:c?q#f":          "http://h/d/a_b:c?q#f",
		"./a:b":              "http://h/d/a:b",
		"x-y:z":              "x-y:z", // a scheme
		"/a;b:c":             "http://h/a;b:c",
		"http://[bad":        "",
		":x":                 "",
	} {
		entries, _ := links.Read(strings.NewReader(`<a href="`+ref+`">x</a>`), "text/html", base)
		for e, err := range entries {
			if got := e.URL.String(); err != nil || got != want || (want == "") != (e.Kind == fetch.EntryError) {
				t.Errorf("%s leads to %q (%v, %v), want %q", ref, got, e.Kind, err, want)
			}
		}
	}
}
