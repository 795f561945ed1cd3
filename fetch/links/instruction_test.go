package links_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
)

// TestReferencesOfXMLPages reads and converts references that only pages in XML and pictures have, and URLs
// of style sheets that are names.
func TestReferencesOfXMLPages(t *testing.T) {
	t.Parallel()
	const svg, xhtml = "image/svg+xml", "application/xhtml+xml; charset=iso-8859-1"
	for _, tt := range []struct {
		contentType, text string
		want              []string
		copied            string // with each reference replaced by "&x"
	}{
		{svg, `<?xml version="1.0"?><?xml-stylesheet type='text/css' href='a.css?b&amp;c'?><svg/>`, []string{"stylesheet http://h.example/dir/a.css?b&c"},
			`<?xml version="1.0"?><?xml-stylesheet type="text/css" href="&amp;x"?><svg/>`},
		{xhtml, "<?xml-stylesheet href=\"\xe9.css\" title=\"\xe9\"?><html/>", []string{"stylesheet http://h.example/dir/%C3%A9.css"},
			"<?xml version=\"1.0\" encoding=\"windows-1252\"?><?xml-stylesheet href=\"&amp;x\" title=\"\xe9\"?><html/>"},
		{svg, `<?xml-stylesheet href="#a"?><?xml-stylesheet href=""?><?xml-stylesheets href="a"?><?xml-stylesheet?><?xml-stylesheet href="a`, nil,
			`<?xml-stylesheet href="#a"?><?xml-stylesheet href=""?><?xml-stylesheets href="a"?><?xml-stylesheet?><?xml-stylesheet href="a`},
		{"text/html", `<?xml-stylesheet href="a.css"?><p>`, nil, `<?xml-stylesheet href="a.css"?><p>`},
		{svg, `<svg><script href="a"/><script xlink:href="b"></script></svg>`, []string{"script http://h.example/dir/a", "script http://h.example/dir/b"},
			`<svg><script href="&amp;x" /><script xlink:href="&amp;x"></script></svg>`},
		{"text/html", `<svg><script xlink:href="b"></script></svg>`, []string{"script http://h.example/dir/b"}, `<svg><script xlink:href="&amp;x"></script></svg>`},
		{"text/css", `@namespace url(n);@namespace s "n";@import 'a';@-moz-document url(d), domain(x){p{a:url(b)}}`,
			[]string{"stylesheet http://h.example/dir/a", "css http://h.example/dir/b"},
			`@namespace url(n);@namespace s "n";@import '&x';@-moz-document url(d), domain(x){p{a:url(&x)}}`},
	} {
		seq, _ := links.Read(strings.NewReader(tt.text), tt.contentType, base)
		if got := collect(seq); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
		var b strings.Builder
		convert := func(fetch.Entry) (string, bool) { return "&x", true }
		var err error
		if in := strings.NewReader(tt.text); tt.contentType == "text/css" {
			err = links.RewriteCSS(&b, in, tt.contentType, base, convert)
		} else {
			err = links.RewriteHTML(&b, in, tt.contentType, base, convert)
		}
		if err != nil || b.String() != tt.copied {
			t.Errorf("%s: copied as %s, %v, want %s", tt.text, b.String(), err, tt.copied)
		}
	}
}
