package serve_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// leaving has each reference and hint by which a page could reach another host.
const leaving = `<link rel="preconnect" href="http://outside.test/"/><link rel="dns-prefetch" href="//outside.test"/><link rel="prefetch" href="http://outside.test/p"/>` +
	`<link rel="stylesheet preconnect" href="http://outside.test/s.css"/><meta http-equiv="refresh" content="0;url=http://outside.test/r"/>` +
	`<meta http-equiv="x-dns-prefetch-control" content="on"/><meta name="og" content="http://outside.test/"/><base href="http://outside.test/" target="_top"/>` +
	`<a href="http://outside.test/a" target="_top" ping="http://outside.test/ping" attributionsrc="http://outside.test/">a</a>` +
	`<form action="http://outside.test/f"><button formaction="//outside.test/b">b</button></form><img src="/\outside.test/i" srcset="//outside.test/1 1x, //outside.test/2 2x"/>` +
	`<image src="//outside.test/img"/><iframe src="http://outside.test/" srcdoc="&lt;img src=//outside.test/&gt;"></iframe><object data="http://outside.test/" codebase="http://outside.test/"></object>` +
	`<embed src="http://outside.test/"/><video poster="//outside.test/p" src="//outside.test/v"></video><p style="background:url(//outside.test/b)" onclick="location='http://outside.test/'">p</p>` +
	`<svg><a xlink:href="http://outside.test/x" target="_top">t</a><use href="http://outside.test/u#x"/><image xlink:href="//outside.test/i"/><rect fill="url(//outside.test/f)"/>` +
	`<a><animate attributeName="xlink:href" values="http://outside.test/;x"/><set attributeName="href" to="http://outside.test/"/>t</a><textPath href="//outside.test/"/>` +
	`<style>rect { fill: url(http://outside.test/css) }</style><foreignObject><iframe src="http://outside.test/n"></iframe><link rel="preconnect" href="http://outside.test/"/></foreignObject></svg>` +
	`<style>@import "http://outside.test/c.css";</style><noscript><link rel="preconnect" href="http://outside.test/"/></noscript><q cite="http://outside.test/">q</q><p data-src="http://outside.test/">END</p>`

// inside matches references to the server itself.
var inside = regexp.MustCompile(`(^|url\()/(view|content|submit)\?`)

// TestFramesDoNotLeak checks that the frame of a page leads to no other host.
func TestFramesDoNotLeak(t *testing.T) {
	t.Parallel()
	encode := func(enc encoding.Encoding, page string) string {
		b, err := enc.NewEncoder().String(page)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	tests := []struct{ name, contentType, page string }{
		{"HTML", "text/html", leaving},
		{"a style sheet without content in SVG", "text/html", "<svg><style/></svg>" + leaving},
		{"a title without content in SVG", "text/html", "<svg><title/></svg>" + leaving},
		{"a script without content in SVG", "text/html", "<svg><script/></svg>" + leaving},
		{"a field without content in MathML", "text/html", "<math><textarea/></math>" + leaving},
		{"a plaintext element in SVG", "text/html", "<svg><plaintext/>" + leaving},
		{"a frame without content in SVG", "text/html", "<svg><iframe/><xmp/><noembed/><noframes/><noscript/>" + leaving},
		{"a paragraph in SVG", "text/html", "<svg><g><p></p><svg><style/>" + leaving},
		{"an end tag in SVG", "text/html", "<svg><g></div><style/>" + leaving},
		{"a select element", "text/html", "<select><svg><style/></select>" + leaving},
		{"a section that is not text", "text/html", "<svg><![CDATA[x]]></svg><![CDATA[>" + leaving},
		{"XHTML", "application/xhtml+xml", "<html><script src='x'/><title/><iframe/><textarea/>" + leaving},
		{"XHTML sent as HTML", "text/html", `<?xml version="1.0"?><html>` + leaving},
		{"UTF-16LE by header", "text/html; charset=utf-16le", encode(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), leaving)},
		{"UTF-16BE by header", "text/html; charset=utf-16be", encode(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), leaving)},
		{"UTF-16LE by mark", "text/html", encode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), leaving)},
		{"UTF-32 by header", "text/html; charset=utf-32", encode(utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), leaving)},
		{"ISO-2022-JP", "text/html; charset=iso-2022-jp", encode(japanese.ISO2022JP, "\u3000\u30b0"+leaving)},
		{"windows-1251", "text/html; charset=windows-1251", "\xe4" + leaving},
		{"an unknown charset", "text/html; charset=x-none", leaving},
		{"an SVG picture", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg">` + leaving + "</svg>"},
	}
	u := start(t)
	for _, tt := range tests {
		s := web(t, tt.contentType, tt.page)
		request := u.request(http.MethodGet, strings.Replace(u.open(s.URL+"/page").url, "/view?", "/content?", 1), nil)
		request.Header.Set("Sec-Fetch-Dest", "iframe")
		frame := u.do(request)
		frame.want(t, http.StatusOK, "END", "</q>", "/view?")
		if got := frame.header.Get("Content-Type"); got != "text/html; charset=utf-8" {
			t.Errorf("%s: the frame is %s", tt.name, got)
		}
		for _, leak := range []string{"//outside.test", "outside.test/\"", "preconnect", "prefetch", "refresh", "<base", "<script", "<!--"} {
			if i := strings.Index(frame.text, leak); i >= 0 {
				t.Errorf("%s: the frame has %q: %s", tt.name, leak, frame.text[max(0, i-60):min(len(frame.text), i+60)])
			}
		}
		root, err := html.Parse(strings.NewReader(frame.text))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			for _, a := range n.Attr {
				if strings.Contains(a.Val, "outside.test") && !inside.MatchString(a.Val) {
					t.Errorf("%s: <%s %s=%q>", tt.name, n.Data, a.Key, a.Val)
				}
			}
		}
	}
}

// TestFramesWithUnsupportedCharsets checks that no bytes of a page are sent that urlget cannot read.
func TestFramesWithUnsupportedCharsets(t *testing.T) {
	t.Parallel()
	u := start(t)
	for contentType, page := range map[string]string{
		"text/html; charset=iso-2022-kr": "<p>raw",
		"text/html; charset=hz-gb-2312":  "<p>raw",
		"text/html; charset=x-none":      "<p>raw \xc1\x81",
		"text/html; charset=ibm037":      "\x4c\x97\x6e\x99\x81\xa6 raw",
		"text/html":                      "<meta charset=iso-2022-kr><p>raw",
	} {
		s := web(t, contentType, page)
		frame := u.get(u.open(s.URL+"/page").find(t, "/content?"))
		if frame.status == http.StatusOK || !strings.Contains(frame.text, "unsupported charset") || strings.Contains(frame.text, "raw") {
			t.Errorf("%s: %d %q", contentType, frame.status, frame.text)
		}
	}
}

// TestStylesInFrames checks that style sheets are sent in UTF-8.
func TestStylesInFrames(t *testing.T) {
	t.Parallel()
	sheet, _ := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String("p { background: url(http://outside.test/\u00e9) }")
	s := web(t, "text/css; charset=utf-16le", sheet)
	u := start(t)
	frame := u.get(strings.Replace(u.open(s.URL+"/page").url, "/view?", "/content?", 1))
	frame.want(t, http.StatusOK, "p { background: url(/content?")
	if got := frame.header.Get("Content-Type"); got != "text/css; charset=utf-8" || strings.Contains(frame.text, "//outside.test") {
		t.Errorf("%s: %s", got, frame.text)
	}
}
