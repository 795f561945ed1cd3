package crawl

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

// BenchmarkLinks reads pages of 40 links each, whose URLs are known after the first 50 pages.
func BenchmarkLinks(b *testing.B) {
	const pages, perPage = 2000, 40
	st, err := open(filepath.Join(b.TempDir(), "state"), true)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	client := fetch.New(nil, httpdriver.Load)
	defer client.Close()
	seed := uri.MustParse("http://h.example/")
	c := &crawl{seeds: map[int]uri.URI{0: seed}, Options: Options{State: st, MaxAlike: DefaultAlike, Scope: Scope{MaxDepth: -1}}}
	c.visitor = c.newVisitor(client)
	if _, err := st.begin([]string{seed.String()}); err != nil {
		b.Fatal(err)
	}
	text := make([]string, pages/perPage)
	for i := range text {
		var t strings.Builder
		t.WriteString(`<!DOCTYPE html><html><head><meta charset="utf-8"><title>t</title></head><body>`)
		for j := range perPage {
			fmt.Fprintf(&t, "<p>Some words about it, and <a class=\"link\" href=\"/section/page-%d.html\">Page %d</a>.</p>\n", i*perPage+j, j)
		}
		text[i] = t.String()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		u := uri.MustParse(fmt.Sprintf("http://h.example/section/page-%d.html", i%pages))
		p := c.page(newItem(&Link{URL: u, From: seed, Depth: 2, Save: true}), nil)
		entries, _ := links.Read(strings.NewReader(text[i%len(text)]), "text/html", u)
		for e, err := range entries {
			if err != nil {
				b.Fatal(err)
			}
			if err := p.AddLink(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
	}
}
