package links_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

func anchorsOf(t testing.TB, contentType, text string) *links.Anchors {
	t.Helper()
	resp := &fetch.Response{URL: uri.MustParse("http://h/"), Meta: fetch.Meta{ContentType: contentType},
		Body: io.NopCloser(strings.NewReader(text))}
	a := &links.Anchors{}
	if entries, ok := links.EntriesAndAnchors(resp, "", a); ok {
		for range entries {
		}
	}
	return a
}

// TestAnchors finds the parts of a page that a fragment refers to, as browsers do.
func TestAnchors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, contentType, page, want string }{
		{"ids and names", "text/html", `<h1 id=a>x</h1><p ID='b c'><a name="d">x</a><img name=e><div id=""><a id=f name=g>`, "a|b c|d|f|g"},
		{"in SVG and XHTML", "application/xhtml+xml", `<svg id="s"><path id="t"/></svg><title id="u"/><p id="v"/>`, "s|t|u|v"},
		{"not in templates, comments, scripts and frames", "text/html",
			`<template><p id=a></template><!-- <p id=b> --><script>"<p id=c>"</script><iframe srcdoc="<p id=d>"></iframe><p id=e>`, "e"},
		{"in other encodings", "text/html; charset=iso-8859-1", "<p id=\xe4 id=b>", "ä"},
		{"entities", "text/html", "<p id='a&amp;b'>", "a&b"},
		{"not HTML", "text/css", "a{}", "!"},
		{"an image", "image/svg+xml", "<svg id='a'/>", "!"},
	} {
		a := anchorsOf(t, tt.contentType, tt.page)
		got := strings.Join(slices.Sorted(a.Names()), "|")
		if !a.IsPage {
			got = "!"
		}
		if got != tt.want || a.Incomplete {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	var many strings.Builder
	for i := range 100_001 {
		fmt.Fprintf(&many, "<p id=%d>", i)
	}
	for name, page := range map[string]string{"names": many.String(), "bytes": "<p id=" + strings.Repeat("x", 4<<20+1) + ">"} {
		if a := anchorsOf(t, "text/html", page); !a.Incomplete {
			t.Errorf("too many %s: all were collected", name)
		}
	}
}

func TestFragmentsReferToAnchors(t *testing.T) {
	t.Parallel()
	page := anchorsOf(t, "text/html", `<p id="a"><p id="ä"><p id="b c"><p id="c%20d"><p id=Top2>`)
	for fragment, want := range map[string]bool{
		"a": true, "A": false, "b": false, "%61": true, "b%20c": true, "c%20d": true, "%C3%A4": true, "%c3%a4": true, "%E4": false, "ä": true,
		"": true, "top": true, "TOP": true, "%74op": true, "top2": false, ":~:text=x": true, "a:~:text=x": true, "none:~:text=x": false,
		"/route": true, "!route": true, "%": false,
	} {
		if got := page.Has(fragment); got != want {
			t.Errorf("%q: %v, want %v", fragment, got, want)
		}
	}
}

func FuzzAnchors(f *testing.F) {
	f.Add("<p id='a%20b'>", "a%20b")
	f.Fuzz(func(t *testing.T, page, fragment string) {
		a := anchorsOf(t, "text/html", page)
		a.Has(fragment)
		for name := range a.Names() {
			if name == "" || !a.Has(uri.Escape(name)) {
				t.Errorf("%q has %q, but not %q", page, name, uri.Escape(name))
			}
		}
	})
}
