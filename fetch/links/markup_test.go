package links_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
)

// parsed returns the targets of the anchors in the tree of a page, as a browser without scripts builds
// it, and whether the page has one.
func parsed(t testing.TB, page string) []string {
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Skip(err)
	}
	var found []string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" {
			continue
		}
		for _, a := range n.Attr {
			if a.Key == "href" && (a.Namespace == "" || n.Namespace == "svg" && a.Namespace == "xlink") {
				found = append(found, a.Val)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// anchors returns the targets of the anchors that Read finds in a page.
func anchors(t testing.TB, page, contentType string) []string {
	seq, ok := links.Read(strings.NewReader(page), contentType, base)
	if !ok {
		t.Fatalf("%s has no links", contentType)
	}
	var found []string
	for e, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		if e.Rel == "a" && e.Kind != fetch.EntryError {
			found = append(found, strings.TrimPrefix(e.URL.String(), "http://h.example/dir/"))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// rawNames are the elements of HTML whose content is text.
var rawNames = []string{"title", "style", "script", "textarea", "iframe", "xmp", "noframes", "noembed", "noscript", "plaintext"}

// TestForeignContent checks that the links of a page are those of its tree.
func TestForeignContent(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, name := range rawNames {
		for _, around := range []string{
			"<svg>|</svg>", "<math>|</math>", "<SVG><G>|</G></SVG>", "<svg>|", "<math><mrow>|</mrow></math>", "<p>|<p>", "<div><svg>|</div>",
			"<svg><foreignObject>|</foreignObject></svg>", "<svg><desc>|</desc></svg>", "<svg><title>|</title></svg>",
			"<svg><foreignObject><p>|</p></foreignObject><path/>|</svg>", "<math><mi>|</mi></math>", "<math><mi><b>|</b></mi>|</math>",
			"<math><annotation-xml>|</annotation-xml></math>", "<math><annotation-xml encoding='Text/HTML'>|</annotation-xml></math>",
			"<math><annotation-xml encoding=application/xhtml+xml><svg>|</svg></annotation-xml></math>", "<math><annotation-xml><svg>|</svg>|</math>",
			"<svg><p>|</p></svg>", "<svg><g></p>|", "<svg><g></br>|", "<svg><font>|", "<svg><font color=red>|", "<svg><foreignObject></p></foreignObject>|",
			"<svg><foreignObject><svg>|</svg></foreignObject>|</svg>", "<svg><foreignObject><div></foreignObject></div>|</svg>", "<svg/>|", "<math/>|",
			"<div><svg><g></div>|", "<svg><g></div>|", "<svg><g></section>|", "<section><svg></section>|", "<a href=x><svg></a>|", "<svg></a>|",
			"<button><svg><path></button>|", "<svg><mglyph>|", "<math><mi><mglyph>|", "<math><mi><svg>|", "<svg><image>|", "<table><tr><td><svg>|</table>",
			"<table><tr><td><svg></td>|</table>", "<ul><li><svg><li>|", "<svg><![CDATA[|]]>", "<svg><![CDATA[<a href=no>]]>|</svg>", "<svg>x</svg><![CDATA[<p>]]>|",
			"<svg><foreignObject><![CDATA[<p>]]>|</foreignObject></svg>", "<!-- <svg> -->|", "<svg><!-- </svg> -->|", "<svg></svg>|", "<svg></p>|", "<p><svg></p>|",
			"<svg><script>/* <a href=no> */</script>|</svg>", "<svg xmlns:xlink=x><a xlink:href=y>|</a></svg>",
		} {
			for _, element := range []string{"<" + name + "/>", "<" + name + "></" + name + ">", "<" + name + "><b></b></" + name + ">", "<" + strings.ToUpper(name) + " />", "<" + name + " a=/>"} {
				pages = append(pages, strings.ReplaceAll(around, "|", element))
			}
		}
	}
	pages = append(pages, "<!-- no end", "<svg><!-- no end", "<svg><![CDATA[ no end", "<svg><title", "<svg a='", "<!doctype html><svg><circle/></svg><p>")
	failed := 0
	for _, page := range pages {
		page += `<a href="END">t</a>`
		got, want := anchors(t, page, "text/html"), parsed(t, page)
		// The content of these elements is read, because urlget runs no scripts and shows no frames.
		if got, ok := slices.BinarySearch(got, "END"); ok && (strings.Contains(page, "<no") || strings.Contains(page, "<NO")) && got >= 0 {
			continue
		}
		if !slices.Equal(got, want) {
			if failed++; failed < 20 {
				t.Errorf("%s: %q, want %q", page, got, want)
			}
		}
	}
	if failed > 0 {
		t.Errorf("%d of %d pages", failed, len(pages))
	}
}

func TestXHTML(t *testing.T) {
	t.Parallel()
	const head = `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body>`
	for _, name := range append(rawNames, "div", "p", "br") {
		for _, element := range []string{"<" + name + "/>", "<" + name + "></" + name + ">", "<" + name + " x='y' />", "<svg><" + name + "/></svg>"} {
			if got := anchors(t, head+element+`<a href="END">t</a></body></html>`, "application/xhtml+xml"); !slices.Equal(got, []string{"END"}) {
				t.Errorf("%s: %q", element, got)
			}
		}
	}
	for page, want := range map[string][]string{
		`<script><![CDATA[ "</script>" <a href="no"> ]]></script><a href="END">t</a>`: {"END"},
		`<p><![CDATA[<a href="no">]]></p><a href="END">t</a>`:                         {"END"},
		`<!-- <a href="no"/> --><a href="END"/>`:                                      {"END"},
	} {
		if got := anchors(t, head+page, "application/xhtml+xml; charset=utf-8"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
	seq, _ := links.Read(strings.NewReader(head+`<style><![CDATA[p{background:url(a.png)}]]></style><style>q{background:url(b.png?a&amp;b)}</style>`), "application/xhtml+xml", base)
	if got, want := collect(seq), []string{"css http://h.example/dir/a.png", "css http://h.example/dir/b.png?a&b"}; !slices.Equal(got, want) {
		t.Errorf("styles: %q, want %q", got, want)
	}
}

func encoded(t *testing.T, enc encoding.Encoding, s string) string {
	b, err := enc.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCharsets checks that a page in each encoding has the same link.
func TestCharsets(t *testing.T) {
	t.Parallel()
	const kana, cyrillic = "<title>\u3000\u30b0</title><p>\u30bc\u30bd\u4e0a<a href=\"\u65e5\">t</a>", "<p><a href=\"\u0434\">t</a>"
	utf16 := func(e unicode.Endianness, b unicode.BOMPolicy) encoding.Encoding { return unicode.UTF16(e, b) }
	wide := func(e utf32.Endianness, b utf32.BOMPolicy) encoding.Encoding { return utf32.UTF32(e, b) }
	late := "<html><head><!--" + strings.Repeat(" ", 1500) + "--><meta charset=windows-1251></head>"
	tests := []struct{ name, contentType, page, want string }{
		{"UTF-16LE with a mark", "text/html", encoded(t, utf16(unicode.LittleEndian, unicode.UseBOM), kana), "%E6%97%A5"},
		{"UTF-16BE with a mark, other header", "text/html; charset=utf-8", encoded(t, utf16(unicode.BigEndian, unicode.UseBOM), kana), "%E6%97%A5"},
		{"UTF-16LE by header", "text/html; charset=UTF-16LE", encoded(t, utf16(unicode.LittleEndian, unicode.IgnoreBOM), kana), "%E6%97%A5"},
		{"UTF-16BE by header", "text/html; charset=utf-16be", encoded(t, utf16(unicode.BigEndian, unicode.IgnoreBOM), kana), "%E6%97%A5"},
		{"UTF-16 by header", "text/html; charset=utf-16", encoded(t, utf16(unicode.LittleEndian, unicode.IgnoreBOM), kana), "%E6%97%A5"},
		{"UTF-16 by header, with a mark", "text/html; charset=utf-16", encoded(t, utf16(unicode.BigEndian, unicode.UseBOM), kana), "%E6%97%A5"},
		{"UTF-16LE of XML", "application/xhtml+xml", encoded(t, utf16(unicode.LittleEndian, unicode.IgnoreBOM), "<?xml version='1.0'?>"+kana), "%E6%97%A5"},
		{"UTF-32LE with a mark", "text/html", encoded(t, wide(utf32.LittleEndian, utf32.UseBOM), kana), "%E6%97%A5"},
		{"UTF-32BE with a mark", "text/html", encoded(t, wide(utf32.BigEndian, utf32.UseBOM), kana), "%E6%97%A5"},
		{"UTF-32LE by header", "text/html; charset=utf-32le", encoded(t, wide(utf32.LittleEndian, utf32.IgnoreBOM), kana), "%E6%97%A5"},
		{"UTF-32 by header", "text/html; charset=utf-32", encoded(t, wide(utf32.BigEndian, utf32.IgnoreBOM), kana), "%E6%97%A5"},
		{"UTF-8 with a mark, other header", "text/html; charset=windows-1251", "\xef\xbb\xbf" + kana, "%E6%97%A5"},
		{"ISO-2022-JP by header", "text/html; charset=iso-2022-jp", encoded(t, japanese.ISO2022JP, kana), "%E6%97%A5"},
		{"ISO-2022-JP by a meta element", "text/html", "<meta charset=iso-2022-jp>" + encoded(t, japanese.ISO2022JP, kana), "%E6%97%A5"},
		{"Shift_JIS", "text/html; charset=shift_jis", encoded(t, japanese.ShiftJIS, kana), "%E6%97%A5"},
		{"windows-1251 by header", "text/html; charset=windows-1251", "<p><a href=\"\xe4\">t</a>", "%D0%B4"},
		{"windows-1251 by a late meta element", "text/html", late + "<a href=\"\xe4\">t</a>", "%D0%B4"},
		{"windows-1251 by a late http-equiv", "text/html", strings.Replace(late, "charset=windows-1251", `http-equiv=Content-Type content="text/html; charset=windows-1251"`, 1) + "<a href=\"\xe4\">t</a>", "%D0%B4"},
		{"a late meta element against the header", "text/html; charset=utf-8", late + "<a href=\"\u0434\">t</a>", "%D0%B4"},
		{"a late meta element against UTF-16", "text/html; charset=utf-16le", encoded(t, utf16(unicode.LittleEndian, unicode.IgnoreBOM), late+cyrillic), "%D0%B4"},
		{"an XML declaration", "application/xhtml+xml", "<?xml version=\"1.0\" encoding=\"windows-1251\"?><p><a href=\"\xe4\">t</a></p>", "%D0%B4"},
		{"an unknown charset", "text/html; charset=x-none", cyrillic, "%D0%B4"},
	}
	for _, tt := range tests {
		if got := anchors(t, tt.page, tt.contentType); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		// A copy is in the encoding of the page, and without changes it has the same bytes.
		for _, change := range []bool{false, true} {
			var b bytes.Buffer
			err := links.RewriteHTML(&b, strings.NewReader(tt.page), tt.contentType, base, func(e fetch.Entry) (string, bool) { return e.URL.String(), change })
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if !change && b.String() != tt.page {
				t.Errorf("%s: the copy is %q, want %q", tt.name, b.String(), tt.page)
			}
			if got := anchors(t, b.String(), tt.contentType); !slices.Equal(got, []string{tt.want}) {
				t.Errorf("%s: the copy leads to %q, want %q", tt.name, got, tt.want)
			}
		}
	}
}

var _ io.Reader
