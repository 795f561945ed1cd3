package links_test

import (
	"bytes"
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
			"<div><svg><g></div>|", "<svg><g></div>|", "<svg><g></section>|", "<section><svg></section>|", "<a href=x><svg></a>|",
			"<a href=x><ul><svg></a>|", "<b><ul><svg></b>|", "<b><svg></b>|", "<i><div><b><p><svg></i>|", "<svg></a>|",
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
		{"a malformed content type", "text/html; charset=\"windows-1251\"; x", "<p><a href=\"\xe4\">t</a>", "%D0%B4"},
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
			if !change && withoutDeclaration(b.String(), tt.page) != tt.page {
				t.Errorf("%s: the copy is %q, want %q", tt.name, b.String(), tt.page)
			}
			if got := anchors(t, b.String(), tt.contentType); !slices.Equal(got, []string{tt.want}) {
				t.Errorf("%s: the copy leads to %q, want %q", tt.name, got, tt.want)
			}
			if got := anchors(t, b.String(), "text/html"); !strings.HasPrefix(tt.name, "UTF-32") && !slices.Equal(got, []string{tt.want}) {
				t.Errorf("%s: the copy on a disk leads to %q, want %q", tt.name, got, tt.want)
			}
		}
	}
}

// TestFramedOutput checks that text stays text and that tags are written anew.
func TestFramedOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ contentType, page, want string }{
		{"text/html", `<!DOCTYPE html><!-- c --><p>a &lt; b &amp;amp; <b`, `<!DOCTYPE html><p>a &lt; b &amp;amp; `},
		{"text/html", `<svg viewBox="0 0 1 1"><style/><path d="M0"/><title>x</title></svg>`,
			`<svg viewbox="0 0 1 1"><style></style><path d="M0"></path><title>x</title></svg>`},
		{"text/html", `<script>a<b</script><xmp><b></xmp><iframe><b></iframe><textarea><b></textarea><plaintext><b>`,
			`<pre>&lt;b&gt;</pre><iframe></iframe><textarea>&lt;b&gt;</textarea><pre>&lt;b&gt;`},
		{"text/html", `<style><!-- p > a { content: "</b <b & &lt;" } @media (1px<=width) {} --></style>`,
			`<style> p > a { content: "\3c /b \3c b & &lt;" } @media (1px<=width) {} --></style>`},
		{"text/html", `<svg><style>p { content: "&lt;b &amp;lt;" }</style>`, `<svg><style>p { content: "\3c b \26 lt;" }</style>`},
		{"text/html", `<svg><![CDATA[<a href=x>]]></svg><![CDATA[x]]>`, `<svg>&lt;a href=x&gt;</svg>`},
		{"text/html", `<linearGradient href="#a"/><linearGradient href="a"/>`, `<lineargradient href="#a"><lineargradient>`},
		{"text/html", `<a"b c><p d'e=f on=g "h=i>`, `<p>`},
		{"text/html; charset=windows-1251", "<p title='\xe4'>\xe4&eacute;", "<p title=\"\u0434\">\u0434\u00e9"},
		{"text/html; charset=koi8-r", "<form>", `<form accept-charset="koi8-r">`},
		{"text/html; charset=shift_jis", "\x83<b>", "\ufffd<b>"},
		{"text/html", "\xef\xbb\xbf<p>\u0434", "<p>\u0434"},
		{"application/xhtml+xml", `<?xml version="1.0"?><!DOCTYPE html [<!ENTITY x "y">]><html><br/><br></br><p/><script>a</script><title/>b<![CDATA[<c>]]></html>`,
			`<!DOCTYPE html>]&gt;<html><br><br><p></p><title></title>b&lt;c&gt;</html>`},
		{"text/html", `<link rel="Stylesheet preload" href=s><link rel="alternate stylesheet" href=t><link rel=icon href=u><meta charset=x><meta name=referrer>`,
			`<link rel="stylesheet" href="#in">`},
		{"text/html", `<svg><animate attributeName=fill to="url(//out/x)" values="#a;#b"/><set attributeName=" HREF" to=x />`, `<svg><animate attributename="fill" values="#a;#b"></animate>`},
	} {
		if got := framed(t, tt.page, tt.contentType); got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.page, got, tt.want)
		}
	}
}

// framed returns the frame of a page. Its references lead to "#in".
func framed(t testing.TB, page, contentType string) string {
	var b strings.Builder
	err := links.RewriteFramed(&b, strings.NewReader(page), contentType, base, "_top", func(fetch.Entry) (string, bool) { return "#in", true }, nil)
	if err != nil && (fetch.CodeOf(err) != fetch.ErrNotRetrievable || b.Len() > 0) {
		t.Fatal(err)
	}
	return b.String()
}

// TestCopiesOfForeignContent checks that copies keep what they do not convert.
func TestCopiesOfForeignContent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ contentType, page, want string }{
		{"text/html", `<svg><title/><style>a{fill:url(x?a&amp;b)}</style></svg><style>a{fill:url(x)}&amp;</style>`,
			`<svg><title/><style>a{fill:url(l&amp;)}</style></svg><style>a{fill:url(l&)}&amp;</style>`},
		{"application/xhtml+xml", `<title/><style><![CDATA[a{fill:url(x)}&amp;]]></style><script><![CDATA[</script><a href="no">]]></script><a href="x"/>`,
			`<title/><style><![CDATA[a{fill:url(l&)}&amp;]]></style><script><![CDATA[</script><a href="no">]]></script><a href="l&amp;" />`},
		{"text/html", `<svg><rect fill="url('x')" stroke="url(#y)" mask=none /></svg>`, `<svg><rect fill="url('l&amp;')" stroke="url(#y)" mask="none" /></svg>`},
	} {
		var b strings.Builder
		err := links.RewriteHTML(&b, strings.NewReader(tt.page), tt.contentType, base, func(fetch.Entry) (string, bool) { return "l&", true })
		if err != nil || b.String() != tt.want {
			t.Errorf("%v: got  %s\nwant %s", err, b.String(), tt.want)
		}
	}
}

// contentTypes are those of fuzzed pages.
var contentTypes = []string{"text/html", "application/xhtml+xml", "text/html; charset=utf-16le", "text/html; charset=iso-2022-jp", "text/html; charset=windows-1251",
	"text/html; charset=gbk", "image/svg+xml"}

// FuzzFramed checks that a frame, however a browser reads it, has no reference that was not converted
// and no element that could leave it.
func FuzzFramed(f *testing.F) {
	for i, page := range []string{`<svg><style/></svg><a href=x>`, `<svg><title/>`, `<svg><![CDATA[<a href=x>]]>`, "<\x00a\x00>\x00", "\x1b$B<a>\x1b(B",
		`<style><!--</style><a href=x>`, `<xmp></xmp x><plaintext><a href=x>`, `<math><annotation-xml encoding=text/html><title/>`, `<link rel=stylesheet href=x>`,
		`<img src=x srcset="a 1x, b">`, `<svg><set attributeName=href to=x /><a xlink:href=x>`, `<noscript><p title="</noscript><a href=x>">`} {
		f.Add(page, byte(i))
	}
	f.Fuzz(func(t *testing.T, page string, kind byte) {
		out := framed(t, page, contentTypes[int(kind)%len(contentTypes)])
		for _, start := range []string{"", "<svg>", "<math><mi>", "<select>", "<svg><title>", "<table>", "<title></title>"} {
			for _, scripts := range []bool{false, true} {
				root, err := html.ParseWithOptions(strings.NewReader(start+out), html.ParseOptionEnableScripting(scripts))
				if err != nil {
					continue // too deep
				}
				for n := range root.Descendants() {
					if fault := leaves(n); fault != "" {
						t.Errorf("%q with %q: %s in %q", page, start, fault, out)
					}
				}
			}
		}
	})
}

// leaves returns why a node could leave its frame, or "".
func leaves(n *html.Node) string {
	switch {
	case n.Type == html.CommentNode:
		return "a comment"
	case n.Type != html.ElementNode:
		return ""
	case slices.Contains([]string{"script", "base", "noscript", "plaintext", "xmp"}, n.Data):
		return n.Data
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "href", "src", "poster", "background", "data", "action", "formaction", "cite", "longdesc":
			if !strings.HasPrefix(a.Val, "#") && strings.TrimSpace(a.Val) != "" {
				return a.Key + "=" + a.Val
			}
		case "srcset", "imagesrcset":
			for candidate := range strings.SplitSeq(a.Val, ",") {
				if u := strings.Fields(candidate); len(u) > 0 && u[0] != "#in" && (strings.Contains(u[0], "/") || strings.Contains(u[0], ".")) {
					return a.Key + "=" + a.Val
				}
			}
		case "target":
			if a.Val != "_top" {
				return "target=" + a.Val
			}
		case "ping", "srcdoc", "http-equiv", "manifest", "attributionsrc", "charset":
			return a.Key
		case "rel":
			if n.Data == "link" && a.Val != "stylesheet" {
				return "link rel=" + a.Val
			}
		}
	}
	return ""
}

// pieces are what the pages of FuzzForeignContent are made of.
var pieces = []string{"<svg>", "</svg>", "<svg/>", "<math>", "</math>", "<g>", "</g>", "<path/>", "<foreignObject>", "</foreignObject>", "<desc>", "</desc>",
	"<title>", "</title>", "<title/>", "<style>", "</style>", "<style/>", "<script>", "</script>", "<script/>", "<textarea/>", "</textarea>", "<xmp/>", "</xmp>",
	"<iframe/>", "</iframe>", "<p>", "</p>", "<div>", "</div>", "<span>", "</span>", "<b>", "</b>", "<section>", "</section>", "</br>", "<br>", "<img>", "<font>",
	"<font size=1>", "</font>", "<mi>", "</mi>", "<mglyph>", "<annotation-xml>", "<annotation-xml encoding=text/html>", "</annotation-xml>", "<![CDATA[", "]]>",
	"<!--", "-->", "x", "<a href=1>", "</a>", "<ul>", "</ul>", "<li>", "</li>", "<h1>", "</h1>", "<button>", "</button>", "</body>"}

// FuzzForeignContent checks that the last link of a page is found if it is in the tree of the page. With
// more pieces, end tags overlap in ways that [markup] does not follow.
func FuzzForeignContent(f *testing.F) {
	f.Add([]byte{0, 17})
	f.Add([]byte{30, 0, 5, 31, 14})
	f.Add([]byte{0, 8, 27, 3, 43, 14})
	f.Fuzz(func(t *testing.T, choices []byte) {
		var b strings.Builder
		for _, c := range choices[:min(len(choices), 6)] {
			b.WriteString(pieces[int(c)%len(pieces)])
		}
		page := b.String() + `<a href="END">`
		_, want := slices.BinarySearch(parsed(t, page), "END")
		_, got := slices.BinarySearch(anchors(t, page, "text/html; charset=utf-8"), "END")
		if want && !got { // HTML elements with the names of SVG may hide less than in the tree
			t.Errorf("%q: the last link is not found", page)
		}
	})
}

func TestTitleAndText(t *testing.T) {
	t.Parallel()
	wide := encoded(t, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "<title>\u65e5</title><p>\u672c")
	for _, tt := range []struct{ contentType, page, title, text string }{
		{"text/html", "<svg><title>icon</title></svg><title>a &amp; b</title>c", "a & b", "icon a & b c"},
		{"text/html", "<svg><title/><style/></svg><p>c<script>d</script><body><title>late</title>", "", "c late"},
		{"text/html; charset=windows-1251", "<title>\xe4&eacute;</title>", "\u0434\u00e9", "\u0434\u00e9"},
		{"text/html; charset=utf-16be", wide, "\u65e5", "\u65e5 \u672c"},
		{"application/xhtml+xml", "<title/><script><![CDATA[</script>]]></script><p>a<![CDATA[<b>]]></p>", "", "a<b>"},
		{"text/html; charset=iso-2022-kr", "<title>a</title>", "", ""},
	} {
		if got := links.Title(strings.NewReader(tt.page), tt.contentType); got != tt.title {
			t.Errorf("%s: title %q, want %q", tt.page, got, tt.title)
		}
		got, err := links.Text(strings.NewReader(tt.page), tt.contentType)
		if got = strings.Join(strings.Fields(got), " "); got != tt.text || err != nil {
			t.Errorf("%s: text %q, %v, want %q", tt.page, got, err, tt.text)
		}
	}
}
