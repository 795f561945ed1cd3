package wais

import (
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestFileNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ types, id, view, want string }{
		{"TEXT", "0 14 /tmp/x/m007.txt", "", "m007.txt"},
		{"TEXT", "0 0 /tmp/x/crlf pear.txt", "", "crlf pear.txt"},
		{"TEXT", "0 0 crlf pear.txt", "", "crlf pear.txt"},
		{"TEXT", "0 0 /tmp/a b/-dash pear.txt", "", "_-dash pear.txt"},
		{"TEXT", "0 0 /tmp/lat1-p\xe9ar.txt", "", "lat1-p\u00e9ar.txt"},
		{"TEXT", "some id", "", "id"},
		{"TEXT", "12", "", "12"},
		{"TEXT", "", "", ""},
		{"TEXT,GIF", "0 0 /tmp/fig.TEXT", "", "fig.TEXT"},
		{"TEXT,GIF", "0 0 /tmp/fig.TEXT", "GIF", "fig.GIF"},
		{"TEXT,GIF", "0 0 /tmp/fig.txt", "GIF", "fig.txt"},
		{"TEXT,GIF", "0 0 /tmp/fig", "GIF", "fig"},
	} {
		u := uri.MustParse("wais://h/db/" + tt.types + "/1=h;2=db;3=" + uri.Escape(tt.id) + ";")
		w, err := uri.ParseWAIS(u)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := documentOf(w, &fetch.Request{URL: u, View: tt.view})
		if err != nil || doc.name() != tt.want {
			t.Errorf("%s of %q: %q, %v; want %q", tt.view, tt.id, doc.name(), err, tt.want)
		}
	}
}
