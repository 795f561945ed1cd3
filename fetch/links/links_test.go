package links_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

var base = uri.MustParse("http://h.example/dir/page.html")

// collect formats entries as lines: relation, URL and name, or the error.
func collect(seq iter.Seq2[fetch.Entry, error]) []string {
	var lines []string
	for e, err := range seq {
		switch {
		case err != nil:
			lines = append(lines, "error "+fetch.CodeOf(err).Error())
		case e.Kind == fetch.EntryError:
			lines = append(lines, e.Rel+" bad")
		default:
			lines = append(lines, strings.TrimSpace(e.Rel+" "+e.URL.String()+" "+e.Name))
		}
	}
	return lines
}

func TestHTML(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, html string
		want       []string
	}{
		{"nothing", "", nil},
		{"no HTML", "just < text", nil},
		{"an anchor", `<a href="x.html">The  <b>text</b>
			of it</a>`, []string{"a http://h.example/dir/x.html The text of it"}},
		{"anchors without an end", `<a href=x>one<a href=y>two`, []string{"a http://h.example/dir/x one", "a http://h.example/dir/y two"}},
		{"a target", `<a name="here">text</a>`, nil},
		{"an empty reference", `<a href="">self</a>`, []string{"a http://h.example/dir/page.html self"}},
		{"a fragment", `<a href="#part">x</a>`, []string{"a http://h.example/dir/page.html#part x"}},
		{"entities", `<a href="?a=1&amp;b=2">&lt;x&gt;</a>`, []string{"a http://h.example/dir/page.html?a=1&b=2 <x>"}},
		{"blanks", "<a href=' a b\n.html '>x</a>", []string{"a http://h.example/dir/a%20b.html x"}},
		{"other schemes", `<a href="gopher://g/1/?x#y">g</a><a href="mailto:a@b">m</a>`, []string{"a gopher://g/1/?x#y g", "a mailto:a@b m"}},
		{"no URL", `<a href="http://h:port/">x</a><img src="http://[">`, []string{"a bad", "img bad"}},
		{"upper case", `<A HREF="x">X</A>`, []string{"a http://h.example/dir/x X"}},
		{"an attribute twice", `<a href=x href=y>z</a>`, []string{"a http://h.example/dir/x z"}},
		{"a style twice", `<p style=color:red style="background:url(x)"><p STYLE="background:url(y)">`, []string{"css http://h.example/dir/y"}},
		{"an image", `<img src="i.png" alt="a picture">`, []string{"img http://h.example/dir/i.png a picture"}},
		{"an image in an anchor", `<a href="x"><img src="i.png"></a>`, []string{"img http://h.example/dir/i.png", "a http://h.example/dir/x"}},
		{"candidates of an image", `<img srcset="a.png 1x, b,c.png 2x ,d.png, e.png">`,
			[]string{"img http://h.example/dir/a.png", "img http://h.example/dir/b,c.png", "img http://h.example/dir/d.png", "img http://h.example/dir/e.png"}},
		{"links", `<link rel="Stylesheet alternate" href="s.css"><link rel=icon href="/i.ico"><link rel="x">`,
			[]string{"stylesheet http://h.example/dir/s.css", "icon http://h.example/i.ico"}},
		{"a base", `<a href=x></a><base href="/other/"><base href="/third/"><a href=x></a>`,
			[]string{"a http://h.example/dir/x", "a http://h.example/other/x"}},
		{"a base elsewhere", `<base href="ftp://f/d/"><a href=x></a>`, []string{"a ftp://f/d/x"}},
		{"a refresh", `<meta http-equiv=Refresh content="5; URL='next.html'"><meta name=x content="a; url=b">`,
			[]string{"refresh http://h.example/dir/next.html"}},
		{"what is there for those without scripts and frames", `<noscript><img src=x alt=X></noscript><frameset><noframes><a href=y>Y</a></noframes></frameset><noembed><a href=z>Z</a></noembed>`,
			[]string{"img http://h.example/dir/x X", "a http://h.example/dir/y Y", "a http://h.example/dir/z Z"}},
		{"embedded things", `<script src=a.js></script><iframe src=b></iframe><frame src=c><object data=d></object><video src=e poster=f></video><body background=g><input type=image src=h>`,
			[]string{"script http://h.example/dir/a.js", "iframe http://h.example/dir/b", "frame http://h.example/dir/c", "object http://h.example/dir/d",
				"video http://h.example/dir/e", "img http://h.example/dir/f", "body http://h.example/dir/g", "input http://h.example/dir/h"}},
		{"scripts and comments hold no links", `<script>"<a href=x>"</script><!-- <a href=y> --><style><a href=z></style><textarea><a href=w></textarea>`, nil},
		{"no links for robots", `<link rel=next href=n><a href=w></a><META Name=Robots Content="noindex, NOFOLLOW"><a href=x>X</a><area href=y><img src=z>`,
			[]string{"next http://h.example/dir/n", "a http://h.example/dir/w", "nofollow http://h.example/dir/x X", "nofollow http://h.example/dir/y", "img http://h.example/dir/z"}},
		{"nothing for robots", `<meta name=" robots " content=none><a href=x></a>`, []string{"nofollow http://h.example/dir/x"}},
		{"links for robots", `<meta name=robots content="noindex,follow,nofollowing"><meta name=x content=nofollow><meta content=nofollow><a href=x></a>`, []string{"a http://h.example/dir/x"}},
		{"an area", `<area href=x alt="the area">`, []string{"a http://h.example/dir/x the area"}},
		{"bytes that are no UTF-8", "<a href=\"caf\xe9\">caf\xe9</a>", []string{"a http://h.example/dir/caf%C3%A9 café"}},
	}
	for _, tt := range tests {
		if got := collect(links.HTML(iotest.OneByteReader(strings.NewReader(tt.html)), base)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestKnownReferences checks that a reference that was resolved for one page is not used for another one whose
// base gives it another target.
func TestKnownReferences(t *testing.T) {
	t.Parallel()
	bases := []string{"http://h.example/a/b.html", "http://h.example/a/c.html?q", "http://h.example/", "http://h.example", "http://h.example/b/", "https://h.example/a/",
		"http://u:p@h.example/a/", "ftp://h.example/a/", "http://h.example/a/b.html#f", "gopher://h.example/1/a/", "file:///a/b", "x:a/b", "x:", "data:,a"}
	refs := []string{"x", "./x", "../x", "/x", "//i.example/x", "http://i.example/x/../y", "?x", "#x", "", "x?y#z", "URL:x", "\\x", " x", "x;y:z", "mailto:a", "gopher://i/1/x"}
	var page strings.Builder
	for _, ref := range refs {
		page.WriteString(`<a href="` + ref + `">x</a>`)
	}
	page.WriteString(`<base href="/other/"><a href=x>x</a><a href="/x">x</a>`)
	for i := range 3 * len(bases) {
		from := uri.MustParse(bases[i*5%len(bases)])
		var got, want []string
		for e := range links.HTML(strings.NewReader(page.String()), from) {
			got = append(got, e.URL.String())
		}
		for _, ref := range refs { // a page of one link, with blanks that make it another reference
			for e := range links.HTML(strings.NewReader(fmt.Sprintf(`<a href="%s%s">x</a>`, ref, strings.Repeat(" ", 600))), from) {
				want = append(want, e.URL.String())
			}
		}
		if !slices.Equal(got[:len(got)-2], want) {
			t.Errorf("%s: %q, want %q", from, got, want)
		}
	}
}

func TestHTMLTypes(t *testing.T) {
	t.Parallel()
	for e := range links.HTML(strings.NewReader(`<link rel=alternate type="application/atom+xml" href=f><input type=image src=i>`), base) {
		if want := map[string]string{"alternate": "application/atom+xml"}[e.Rel]; e.ContentType != want || e.Size != -1 {
			t.Errorf("%s: type %q and size %d, want %q and -1", e.Rel, e.ContentType, e.Size, want)
		}
	}
}

// An SVG file has links, and images that it needs.
func TestSVGFile(t *testing.T) {
	t.Parallel()
	const file = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><title/><image href="/x"/><a href="y"/><path fill="url(z#g)"/></svg>`
	entries, ok := links.Read(strings.NewReader(file), "image/svg+xml", base)
	if !ok {
		t.Fatal("not read")
	}
	want := []string{"image http://h.example/x", "css http://h.example/dir/z#g", "a http://h.example/dir/y"}
	if got := collect(entries); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestURIList(t *testing.T) {
	t.Parallel()
	got := collect(links.URIList(strings.NewReader("# a comment\r\nftp://f/x\r\n\r\nrel/y\nhttp://h:port/\n#\nlast:one"), base))
	want := []string{"item ftp://f/x", "item http://h.example/dir/rel/y", "item bad", "item last:one"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := collect(links.URIList(strings.NewReader("x"), uri.URI{})); !slices.Equal(got, []string{"item bad"}) {
		t.Errorf("a relative reference without a base: %q", got)
	}
}

func TestErrorsEndTheEntries(t *testing.T) {
	t.Parallel()
	broken := func(text string) io.Reader {
		return io.MultiReader(strings.NewReader(text), iotest.ErrReader(fetch.ErrTruncated))
	}
	huge := func() io.Reader { return io.MultiReader(strings.NewReader("<a href='"), endless{}) }
	tests := []struct {
		name string
		seq  iter.Seq2[fetch.Entry, error]
		want []string
	}{
		{"HTML cut off", links.HTML(broken("<a href=x>text"), base), []string{"a http://h.example/dir/x text", "error transfer incomplete"}},
		{"list cut off", links.URIList(broken("a:b\nc:d"), base), []string{"item a:b", "error transfer incomplete"}},
		{"a tag without end", links.HTML(huge(), base), []string{"error larger than the limit"}},
		{"a line without end", links.URIList(huge(), base), []string{"error larger than the limit"}},
	}
	for _, tt := range tests {
		if got := collect(tt.seq); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestEarlyBreakStopsReading(t *testing.T) {
	t.Parallel()
	for name, seq := range map[string]iter.Seq2[fetch.Entry, error]{
		"HTML": links.HTML(io.MultiReader(strings.NewReader("<a href=x></a><img src=y><a href=z>"), endless{}), base),
		"list": links.URIList(io.MultiReader(strings.NewReader("a:b\nc:d\n"), endless{}), base),
	} {
		n := 0
		for range seq {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: %d entries", name, n)
		}
	}
}

func TestEntriesByMediaType(t *testing.T) {
	t.Parallel()
	var own iter.Seq2[fetch.Entry, error] = func(yield func(fetch.Entry, error) bool) {
		yield(fetch.Entry{URL: uri.MustParse("x:own"), Rel: "item"}, nil)
	}
	tests := []struct {
		contentType string
		own         iter.Seq2[fetch.Entry, error]
		want        []string
		ok          bool
	}{
		{"text/html; charset=utf-8", nil, []string{"a http://h.example/dir/x"}, true},
		{"Text/HTML; bad", nil, []string{"a http://h.example/dir/x"}, true},
		{"application/xhtml+xml", nil, []string{"a http://h.example/dir/x"}, true},
		{"text/uri-list", nil, // spaces and angle brackets delimit URLs and are removed
			[]string{"item http://h.example/dir/ahref=x"}, true},
		{"text/html", own, []string{"item x:own"}, true},
		{"text/plain", nil, nil, false},
		{"", nil, []string{"a http://h.example/dir/x"}, true},
	}
	for _, tt := range tests {
		resp := &fetch.Response{Meta: fetch.Meta{ContentType: tt.contentType}, URL: base, Entries: tt.own,
			Body: io.NopCloser(strings.NewReader("<a href=x>"))}
		seq, ok := links.Entries(resp, "")
		if ok != tt.ok {
			t.Errorf("%q: %v, want %v", tt.contentType, ok, tt.ok)
		}
		if ok {
			if got := collect(seq); !slices.Equal(got, tt.want) {
				t.Errorf("%q: %q, want %q", tt.contentType, got, tt.want)
			}
		}
	}
}

func FuzzHTML(f *testing.F) {
	for _, seed := range []string{`<a href=x>y</a><img srcset="a 1x,,b">`, `<base href=//x><link rel=" a" href=":">`, `<meta http-equiv=refresh content=";url=">`, "<a href=\"\x00\r\n\">"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for e, err := range links.HTML(strings.NewReader(s), base) {
			switch {
			case err != nil && !errors.Is(err, fetch.ErrTooLarge):
				t.Errorf("error %v", err)
			case err == nil && e.Kind != fetch.EntryError && !e.URL.IsAbs():
				t.Errorf("entry %+v is not absolute", e)
			}
		}
	})
}

func FuzzURIList(f *testing.F) {
	f.Add("a:b\r\n# c\r\n<URL:d:e>\n//[")
	f.Fuzz(func(t *testing.T, s string) {
		for e, err := range links.URIList(strings.NewReader(s), base) {
			if err == nil && e.Kind != fetch.EntryError && !e.URL.IsAbs() {
				t.Errorf("entry %+v is not absolute", e)
			}
		}
	})
}

func ExampleEntries() {
	page := func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{
			Meta: fetch.Meta{ContentType: "text/html", Size: -1},
			Body: io.NopCloser(strings.NewReader(`See <a href="about.txt">about us</a>. <img src="/logo.png">`)),
		}, nil
	}
	c := fetch.New(nil, fetch.Use("x-page", fetch.DriverFunc(page)))
	defer c.Close()
	resp, err := c.Get(context.Background(), "x-page://h/dir/")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	entries, ok := links.Entries(resp, "")
	if !ok {
		log.Fatal("no links in ", resp.ContentType)
	}
	for e, err := range entries {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Rel, e.URL, e.Name)
	}
	// Output:
	// a x-page://h/dir/about.txt about us
	// img x-page://h/logo.png
}

func TestHTMLHasMoreReferences(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, html string
		want       []string
	}{
		{"images that scripts show", `<img src="data:," data-src="/x" data-srcset="/y 1x"><iframe data-lazy-src=z></iframe><div data-src=w>`,
			[]string{"img data:,", "img http://h.example/x", "img http://h.example/y", "iframe http://h.example/dir/z"}},
		{"pictures for other sites", `<meta property="og:image" content="/x"><meta name="twitter:image" content=y><meta name=description content=z>`,
			[]string{"og:image http://h.example/x", "twitter:image http://h.example/dir/y"}},
		{"movies and layers", `<param name=Movie value="/x"><param name=color value=y><layer src=z></layer>`,
			[]string{"object http://h.example/x", "layer http://h.example/dir/z"}},
		{"a refresh in quotes, with blanks", `<meta http-equiv="refresh" content="0 ; URL = &quot;a;b.html&quot; ">`, []string{"refresh http://h.example/dir/a;b.html"}},
		{"a refresh by the reference alone", `<meta http-equiv=refresh content="0; b.html"><meta http-equiv=refresh content="0, '/c'">`,
			[]string{"refresh http://h.example/dir/b.html", "refresh http://h.example/c"}},
		{"a refresh without a target, with a semicolon", `<meta http-equiv=refresh content="5; "><meta http-equiv=refresh content="5;URL=">`, nil},
		{"a refresh without a target", `<meta http-equiv=refresh content=5>`, nil},
		{"a style attribute", `<p style="background: url( 'a b.png' )">`, []string{"css http://h.example/dir/a%20b.png"}},
		{"a style element", `<style>@import "x.css"; p { background: url(y.png) }</style><a href=z></a>`,
			[]string{"stylesheet http://h.example/dir/x.css", "css http://h.example/dir/y.png", "a http://h.example/dir/z"}},
		{"descriptors with commas", `<img srcset="a.png calc(1px, 2px), b.png">`, []string{"img http://h.example/dir/a.png", "img http://h.example/dir/b.png"}},
		{"a preload", `<link rel=preload imagesrcset="a.png 1x, b.png 2x">`, []string{"img http://h.example/dir/a.png", "img http://h.example/dir/b.png"}},
		{"pictures in SVG", `<svg><image xlink:href=a.png /><use href="#x"></svg>`, []string{"image http://h.example/dir/a.png", "use http://h.example/dir/page.html#x"}},
		{"old attributes", `<table background=a><tr><td background=b></table><q cite=c></q><img longdesc=d>`,
			[]string{"table http://h.example/dir/a", "td http://h.example/dir/b", "cite http://h.example/dir/c", "longdesc http://h.example/dir/d"}},
		{"UTF-16", "\xff\xfe<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00x\x00>\x00", []string{"a http://h.example/dir/x"}},
		{"a plus sign", `<a href="a+b?c+d">`, []string{"a http://h.example/dir/a+b?c+d"}},
		{"a link without a relation", `<link href=x>`, []string{"link http://h.example/dir/x"}},
	}
	for _, tt := range tests {
		if got := collect(links.HTML(strings.NewReader(tt.html), base)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCSS(t *testing.T) {
	t.Parallel()
	tests := []struct {
		css  string
		want []string
	}{
		{`@import url(a.css) screen; @IMPORT 'b.css';`, []string{"stylesheet http://h.example/dir/a.css", "stylesheet http://h.example/dir/b.css"}},
		{`p { background: URL( "a)b.png" ), url(c\(d.png) }`, []string{"css http://h.example/dir/a)b.png", "css http://h.example/dir/c(d.png"}},
		{`/* url(no) */ p { content: "url(no)"; x: url(\61 b) }`, []string{"css http://h.example/dir/ab"}},
		{`p { background: image-set("a.png" 1x, url(b.png) 2x); content: "no" }`, []string{"css http://h.example/dir/a.png", "css http://h.example/dir/b.png"}},
		{`p { filter: url(#here); x: url(); y: url("")`, nil},
		{`p { x: url(open`, []string{"css http://h.example/dir/open"}},
	}
	for _, tt := range tests {
		if got := collect(links.CSS(strings.NewReader(tt.css), "text/css", base)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.css, got, tt.want)
		}
	}
	if got := collect(links.CSS(endless{}, "text/css", base)); !slices.Equal(got, []string{"error larger than the limit"}) {
		t.Errorf("a sheet without end: %q", got)
	}
}

func TestXML(t *testing.T) {
	t.Parallel()
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	io.WriteString(z, `<urlset><url><loc>/packed</loc></url></urlset>`)
	z.Close()
	tests := []struct {
		name, xml string
		want      []string
	}{
		{"a sitemap", `<?xml version="1.0"?><urlset><url><loc> http://h/a?b=1&amp;c=2 </loc><lastmod>2026-01-02</lastmod><x:image><x:loc>/i.png</x:loc></x:image></url><url><loc>/b</loc></url></urlset>`,
			[]string{"img http://h.example/i.png", "item http://h/a?b=1&c=2", "item http://h.example/b"}},
		{"an index", `<sitemapindex><sitemap><loc>/one.xml</loc></sitemap></sitemapindex>`, []string{"sitemap http://h.example/one.xml"}},
		{"compressed", packed.String(), []string{"item http://h.example/packed"}},
		{"RSS", `<rss><channel><link>http://h/</link><item><link>/a</link><enclosure url="/a.mp3" type="audio/mpeg"/></item></channel></rss>`,
			[]string{"item http://h/", "item http://h.example/a", "enclosure http://h.example/a.mp3"}},
		{"Atom", `<feed><link href="/a"/><entry><link rel="alternate" href="b"/><content src="c"/></entry><link rel="next" href="d"/></feed>`,
			[]string{"item http://h.example/a", "item http://h.example/dir/b", "enclosure http://h.example/dir/c", "next http://h.example/dir/d"}},
		{"Atom with xml:base", `<feed xml:base="http://g/f/"><link href="a"/><entry xml:base="e/"><link href="b"/></entry><link href="c"/></feed>`,
			[]string{"item http://g/f/a", "item http://g/f/e/b", "item http://g/f/c"}},
		{"RSS with media", `<rss><channel><item><guid>http://h/p</guid><media:content url="/v.mp4"/><media:thumbnail url="/t.png"/></item><item><guid isPermaLink="false">http://h/q</guid></item><item><guid>17</guid></item></channel></rss>`,
			[]string{"item http://h/p", "enclosure http://h.example/v.mp4", "img http://h.example/t.png"}},
		{"videos and languages", `<urlset><url><loc>/a</loc><xhtml:link rel="alternate" hreflang="de" href="/de"/><video:video><video:content_loc>/v.mp4</video:content_loc><video:thumbnail_loc>/t.png</video:thumbnail_loc></video:video></url></urlset>`,
			[]string{"item http://h.example/de", "video http://h.example/v.mp4", "img http://h.example/t.png", "item http://h.example/a"}},
		{"UTF-16", "\xff\xfe" + strings.Join(strings.Split(`<?xml version="1.0" encoding="utf-16"?><urlset><url><loc>/a</loc></url></urlset>`, ""), "\x00") + "\x00",
			[]string{"item http://h.example/a"}},
		{"a document with style sheets", `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="s.xsl?a&amp;b"?><?xml-stylesheet href='#x'?><?xml-stylesheet href=?><doc/>`,
			[]string{"stylesheet http://h.example/dir/s.xsl?a&b"}},
		{"a text", "http://h/a\n", nil},
		{"something else", `<svg><a href="x"/><loc>y</loc><link>z</link></svg>`, nil},
		{"rubbish", `<urlset><url><loc>/a</loc></url><`, []string{"item http://h.example/a", "error protocol violation"}},
	}
	for _, tt := range tests {
		if got := collect(links.XML(strings.NewReader(tt.xml), base)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for e := range links.XML(strings.NewReader(tests[0].xml), base) {
		if e.Rel == "item" && e.URL.Path() == "/a" && e.ModTime.Format(time.DateOnly) != "2026-01-02" {
			t.Errorf("changed at %v", e.ModTime)
		}
	}
}

func TestTextSitemaps(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"http://h/a?b&c\r\n\n http://h/d \n":         {"item http://h/a?b&c", "item http://h/d"},
		"\xef\xbb\xbfhttp://h/a":                     {"item http://h/a"},
		"\xfe\xff\x00h\x00:\x00/\x00/\x00h\x00/":     {"item h://h/"},
		"Not found.\n/a\nmailto:a@b\n":               nil,
		" <urlset><url><loc>/a</loc></url></urlset>": {"item http://h.example/a"},
		"":                       nil,
		strings.Repeat("x", 1e5): {"error larger than the limit"},
	} {
		if got := collect(links.Sitemap(strings.NewReader(text), base)); !slices.Equal(got, want) {
			t.Errorf("%.50q: %q, want %q", text, got, want)
		}
	}
}

func TestRewriteFramed(t *testing.T) {
	t.Parallel()
	convert := func(e fetch.Entry) (string, bool) {
		if fragment, ok := e.URL.Fragment(); ok && e.URL.Host() == "h.example" {
			return "#" + fragment, true
		}
		return "/in?" + e.URL.LastSegment(), true
	}
	submit := func(action fetch.Entry, method string) (string, bool) {
		return "/send?" + method + "=" + action.URL.LastSegment(), action.URL.Host() == "h.example"
	}
	tests := []struct{ html, want string }{
		{`<a href=x target=other ping=/p>t</a>`, `<a href="/in?x" target="_top">t</a>`},
		{`<a href="#there">t</a>`, `<a href="#there">t</a>`},
		{`<base href=/deep/ target=_blank><img src=p.png>`, `<img src="/in?p.png">`},
		{`<meta http-equiv=Refresh content="0;url=/away"><meta name=x>`, `<meta name="x">`},
		{`<form action=/send target=x>f`, `<form action="/send?get=send" method="post" enctype="application/x-www-form-urlencoded" target="_top">f`},
		{`<form method=POST action=send enctype=multipart/form-data>`, `<form action="/send?post=send" method="post" enctype="multipart/form-data" target="_top">`},
		{`<form enctype=text/plain>`, `<form action="/send?get=page.html" method="post" enctype="application/x-www-form-urlencoded" target="_top">`},
		{`<form action=//other.example/x><button>b</button></form>`, `<form><button>b</button></form>`},
		{`<form method=dialog action=x>`, `<form>`},
		{`<form action=http://[><input>`, `<form><input>`},
		{`<form action=//other.example/x><button formaction=/o>`,
			`<form><button formaction="/send?get=o" formmethod="post" formenctype="application/x-www-form-urlencoded" formtarget="_top">`},
		{`<form action=x method=post></form><button formaction=/o formtarget=x>b`,
			`<form action="/send?post=x" method="post" enctype="application/x-www-form-urlencoded" target="_top"></form><button>b`},
		{`<button form=f formaction=/o formmethod=get>b`, `<button form="f">b`},
		{`<noscript><img src=n.png></noscript>`, `<img src="/in?n.png">`},
		{`<iframe srcdoc="&lt;a href=x>" src=y>`, `<iframe src="/in?y">`},
		{`<math href=//out/><set attributeName=href to=//out/>`, `<math>`},
		{`<svg><a xlink:href=//out/x>`, `<svg><a xlink:href="/in?x" target="_top">`},
		{`<style>p { background: url(b.png) }</style>`, `<style>p { background: url(/in?b.png) }</style>`},
	}
	for _, tt := range tests {
		var got strings.Builder
		if err := links.RewriteFramed(&got, strings.NewReader(tt.html), "text/html", base, "_top", convert, submit); err != nil {
			t.Errorf("%s: %v", tt.html, err)
		}
		if got.String() != tt.want {
			t.Errorf("%s: got %s\nwant %s", tt.html, got.String(), tt.want)
		}
	}
}

func TestRewriteHTML(t *testing.T) {
	t.Parallel()
	convert := func(e fetch.Entry) (string, bool) {
		if e.Kind == fetch.EntryError || e.URL.Host() != "h.example" {
			return "", false
		}
		return "local/" + e.URL.LastSegment() + "&", true
	}
	tests := []struct{ html, want string }{
		{`<p>text &amp; <A HREF='x' title="y &lt; z">t</A>`, `<p>text &amp; <a href="local/x&amp;" title="y &lt; z">t</A>`},
		{`<a href=http://other/>t</a><!-- <a href=x> --><script>"<a href=x>"</script>`, `<a href=http://other/>t</a><!-- <a href=x> --><script>"<a href=x>"</script>`},
		{`<base target=_top href="/deep/"><base href=/x/><img srcset="a.png 1x, b.png 2x">`, `<base target="_top"><base><img srcset="local/a.png&amp; 1x, local/b.png&amp; 2x">`},
		{`<p style="x: url(a), url('b')"><style>p { x: url(c) }</style>`, `<p style="x: url(local/a&amp;), url('local/b&amp;')"><style>p { x: url(local/c&) }</style>`},
		{`<meta http-equiv=refresh content="1; url='a'">`, `<meta http-equiv="refresh" content="1; url='local/a&amp;'">`},
		{`<noscript><img src=a></noscript><noframes><p>x<a href=b>y</a></noframes>`, `<noscript><img src="local/a&amp;"></noscript><noframes><p>x<a href="local/b&amp;">y</a></noframes>`},
		{`<base href=/deep/><form action=send?x#y><button formaction="../b"><input formaction=/c></form><form action><form action="http://other/f"><form action=javascript:x>`,
			`<base><form action="http://h.example/deep/send?x#y"><button formaction="http://h.example/b"><input formaction="http://h.example/c"></form><form action><form action="http://other/f"><form action=javascript:x>`},
		{`<br/><img src=a />tail <a href=`, `<br/><img src="local/a&amp;" />tail <a href=`},
	}
	for _, tt := range tests {
		var got strings.Builder
		if err := links.RewriteHTML(&got, strings.NewReader(tt.html), "", base, convert); err != nil {
			t.Errorf("%s: %v", tt.html, err)
		}
		if got.String() != tt.want {
			t.Errorf("%s: got %s\nwant %s", tt.html, got.String(), tt.want)
		}
	}
	var wide strings.Builder
	if err := links.RewriteHTML(&wide, strings.NewReader("\xfe\xff\x00<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00x\x00>"), "", base, convert); err != nil ||
		!strings.HasPrefix(wide.String(), "\xfe\xff\x00<\x00a") || !strings.Contains(wide.String(), "\x00l\x00o\x00c\x00a\x00l") {
		t.Errorf("UTF-16: %q, %v", wide.String(), err)
	}
	var sheet strings.Builder
	if err := links.RewriteCSS(&sheet, strings.NewReader(`@import "a"; p { x: url( b ) url(http://other/) }`), "text/css", base, convert); err != nil ||
		sheet.String() != `@import "local/a&"; p { x: url( local/b& ) url(http://other/) }` {
		t.Errorf("CSS: %q, %v", sheet.String(), err)
	}
}

// FuzzRewrite checks that a page keeps its links if each is replaced by itself, and does not change
// if none is replaced.
func FuzzRewrite(f *testing.F) {
	f.Add(`<a href=x>t</a><img srcset="a 1x,b"><style>@import 'x'; p{b:url(y)}</style><base href=/z><p style='x:url(")")'>`)
	f.Add("<style>url(\x00")
	f.Add("<meta http-equiv=refresh content='0;url=x'><svg><use xlink:href=a></svg><a href=\"\x00&quot;\">")
	f.Fuzz(func(t *testing.T, page string) {
		if strings.HasPrefix(page, "\xff\xfe") || strings.HasPrefix(page, "\xfe\xff") {
			return // an incomplete UTF-16 character cannot be restored
		}
		var same strings.Builder
		if err := links.RewriteHTML(&same, strings.NewReader(page), "", uri.URI{}, func(fetch.Entry) (string, bool) { return "", false }); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.ToLower(page), "base") && same.String() != page {
			t.Errorf("%q became %q", page, same.String())
		}
		var all strings.Builder
		n := 0
		err := links.RewriteHTML(&all, strings.NewReader(page), "", base, func(e fetch.Entry) (string, bool) {
			n++
			return e.URL.String(), e.Kind != fetch.EntryError
		})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(page), "import") {
			return // modules are not converted
		}
		if got := len(collect(links.HTML(strings.NewReader(page), base))); got != n {
			t.Errorf("%q has %d links, and %d were converted", page, got, n)
		}
	})
}

// TestLongTextsOfSitemaps checks that a text without an end is not read into memory up to the limit of
// the whole document.
func TestLongTextsOfSitemaps(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{"text": "<loc>", "tag": "<loc x='"} {
		in := &counter{r: io.MultiReader(strings.NewReader("<urlset><url><loc>/a</loc></url><url>"+head), endless{})}
		if got := collect(links.XML(in, base)); !slices.Equal(got, []string{"item http://h.example/a", "error larger than the limit"}) {
			t.Errorf("%s: %q", name, got)
		}
		if in.n > 5<<20 {
			t.Errorf("%s: %d bytes were read", name, in.n)
		}
	}
}

// A counter counts the bytes read from r.
type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestSitemapsWithoutEnd(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "<urlset><url><loc>/a</loc></url>"+strings.Repeat("<url>", 1000))
	z.Close()
	if got := collect(links.ReadXML(&packed, base, 1000, false)); !slices.Equal(got, []string{"item http://h.example/a", "error larger than the limit"}) {
		t.Errorf("%q", got)
	}
}
