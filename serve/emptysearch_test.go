package serve_test

import (
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers/gopherd"
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
