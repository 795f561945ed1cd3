package links_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
)

const benchHead = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title></head><body class="page">`

// textPage is a page of 100 kB of text without links.
func textPage() string {
	var b strings.Builder
	b.WriteString(benchHead)
	for b.Len() < 100_000 {
		b.WriteString("<p class=\"text\">" + strings.Repeat("Some words of a text, and &amp; some more. ", 12) + "</p>\n")
	}
	return b.String()
}

// linkPage is a page of 40 links as in the navigation of a site.
func linkPage(n int) string {
	var b strings.Builder
	b.WriteString(benchHead + "<ul>")
	for i := range 40 {
		fmt.Fprintf(&b, "<li><a href=\"/part%d/page%d.html\" class=\"nav\">Page %d of %d</a></li>\n", n, i, i, n)
	}
	return b.String()
}

// readPage reads the links of a page and returns their number.
func readPage(tb testing.TB, r *strings.Reader) int {
	seq, _ := links.Read(r, "text/html; charset=utf-8", base)
	n := 0
	for _, err := range seq {
		if err != nil {
			tb.Fatal(err)
		}
		n++
	}
	return n
}

func BenchmarkText(b *testing.B) {
	page := textPage()
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	r := strings.NewReader("")
	for b.Loop() {
		r.Reset(page)
		readPage(b, r)
	}
}

func BenchmarkKnownLinks(b *testing.B) {
	page := linkPage(0)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	r := strings.NewReader("")
	found := 0
	for b.Loop() {
		r.Reset(page)
		found += readPage(b, r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(found), "ns/link")
}

func BenchmarkNewLinks(b *testing.B) {
	var pages []string
	for n := range 1000 {
		pages = append(pages, linkPage(n))
	}
	b.SetBytes(int64(len(pages[0])))
	b.ReportAllocs()
	r := strings.NewReader("")
	found := 0
	for n := 0; b.Loop(); n++ {
		r.Reset(pages[n%len(pages)])
		found += readPage(b, r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(found), "ns/link")
}

func BenchmarkRewrite(b *testing.B) {
	page := linkPage(0) + textPage()
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	r := strings.NewReader("")
	convert := func(fetch.Entry) (string, bool) { return "../page.html", true }
	for b.Loop() {
		r.Reset(page)
		if err := links.RewriteHTML(io.Discard, r, "text/html; charset=utf-8", base, convert); err != nil {
			b.Fatal(err)
		}
	}
}
