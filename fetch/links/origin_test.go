package links_test

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// Browsers refuse a file that a page requests with crossorigin, and a converted one with its old digest.
func TestCopiesHaveNoOrigin(t *testing.T) {
	t.Parallel()
	convert := func(e fetch.Entry) (string, bool) {
		if e.URL.Host() == "h" {
			return strings.TrimPrefix(e.URL.Path(), "/"), true
		}
		return e.URL.String(), true
	}
	for page, want := range map[string]string{
		`<link rel=stylesheet crossorigin integrity="sha256-x" href="/a">`: `<link rel="stylesheet" href="a">`,
		`<script crossorigin=anonymous src="/a">`:                          `<script src="a">`,
		`<img crossorigin src="/a" srcset="/b 2x">`:                        `<img src="a" srcset="b 2x">`,
		`<script crossorigin integrity="x" src="http://g/a">`:              `<script crossorigin="" integrity="x" src="http://g/a">`,
		`<script crossorigin integrity="x">`:                               `<script crossorigin integrity="x">`,
	} {
		var got strings.Builder
		if err := links.RewriteHTML(&got, strings.NewReader(page), "text/html", uri.MustParse("http://h/"), convert); err != nil || got.String() != want {
			t.Errorf("%s: got %s, want %s; %v", page, got.String(), want, err)
		}
	}
}
