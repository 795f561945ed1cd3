package serve_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
)

func TestEmptySearchesKeepTheWords(t *testing.T) {
	t.Parallel()
	g := gopherd.Start(t, gopherd.Options{Tree: fstest.MapFS{}, Replies: map[string]string{"/find\ta b": ".\r\n"},
		Items: map[string][]string{"/": {}}})
	u := start(t)
	for rawURL, want := range map[string]string{
		g.URL + "/7/find%09a%20b": "Nothing found for “a b”.",
		g.URL + "/1/":             "There are no entries.",
	} {
		p := u.open(rawURL)
		p.want(t, http.StatusOK, want)
		p.without(t, "0 entries")
	}
	u.open(g.URL+"/7/find%09a%20b").want(t, http.StatusOK, `value="a b"`)
}

// The URL of a database is a database to search (RFC 1738, section 3.8).
func TestDatabasesHaveTheirSearch(t *testing.T) {
	t.Parallel()
	s := waisd.Start(t, waisd.Options{Tree: fstest.MapFS{"fruit/pear": {Data: []byte("A pear.\n")}}})
	u := start(t)
	p := u.open("wais://" + s.Addr + "/fruit")
	p.want(t, http.StatusOK, `name="words"`, "(:source")
	p.without(t, `name="q"`)
	for words, want := range map[string]string{"pear": "1 entry", "plum": "Nothing found for “plum”."} {
		form := url.Values{"words": {words}}
		fields := regexp.MustCompile(`<input type="hidden" name="(\w)" value="([^"]*)">`)
		for _, m := range fields.FindAllStringSubmatch(p.text[strings.Index(p.text, `action="/search"`):], -1) {
			form.Set(m[1], html.UnescapeString(m[2]))
		}
		u.get("/search?"+form.Encode()).want(t, http.StatusOK, want)
	}
}
