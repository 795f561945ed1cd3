package links_test

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// References are read as browsers read them (URL Standard, section 4.4).
func TestColonsAndBackslashesInReferences(t *testing.T) {
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
		`\x\y?a\b#\c`:        "http://h/x/y?a%5Cb#%5Cc",
		`..\x`:               "http://h/x",
		`\\g\x`:              "http://g/x",
		`https:\\g\x`:        "https://g/x",
		`mailto:a\b`:         `mailto:a%5Cb`,
	} {
		entries, _ := links.Read(strings.NewReader(`<a href="`+ref+`">x</a>`), "text/html", base)
		for e, err := range entries {
			if got := e.URL.String(); err != nil || got != want || (want == "") != (e.Kind == fetch.EntryError) {
				t.Errorf("%s leads to %q (%v, %v), want %q", ref, got, e.Kind, err, want)
			}
		}
	}
}
