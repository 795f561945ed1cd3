package message

import (
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// textByTokenizer removes the tags with Tokenizer.Text.
func textByTokenizer(page string) string {
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	z.SetMaxBuf(maxToken)
	for skip := ""; ; {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return out.String()
		case html.TextToken:
			if skip == "" {
				out.Write(z.Text())
			}
			continue
		case html.CommentToken, html.DoctypeToken:
			continue
		}
		raw, _ := z.TagName()
		name := string(raw)
		switch {
		case skip != "":
			if kind == html.EndTagToken && name == skip {
				skip = ""
			}
		case kind == html.StartTagToken && (name == "script" || name == "style" || name == "title"):
			skip = name
		case slices.Contains(lineBreaks, name) || len(name) == 2 && name[0] == 'h':
			out.WriteByte('\n')
		}
	}
}

var htmlTexts = []string{"a&amp;b<br>c&#8364;d\r\ne\rf\x00g", "<textarea>&lt;\x00<b></textarea>&lt;",
	"<xmp>&lt;\x00\r\n<p></xmp>&gt;\x00", "<XMP></XMP>&lt;", "<iframe/>&lt;</iframe>&lt;",
	"<noscript>&lt;</noscript>", "<plaintext>&amp;</plaintext>&amp;", "<script/>&amp;</script>x",
	"<script>&amp;</script>&amp;<style>a</style>b", "<title>&amp;</title>b<title/>&amp;</title>",
	"<!-- <xmp> -->&amp;", "<xmp><!-- &amp; --></xmp>", "<h1>a</h1>b<", "<noembed>&amp;", "</xmp>&amp;",
	"<xmp a=b>&amp;</xmp >&amp;", "<textarea><!-- &amp;"}

func FuzzTextOfHTML(f *testing.F) {
	for _, page := range htmlTexts {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		got, _ := io.ReadAll(&plainReader{z: html.NewTokenizer(strings.NewReader(page))})
		if want := textByTokenizer(page); string(got) != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	})
}
