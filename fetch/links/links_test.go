package links_test

import (
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

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

var base = uri.MustParse("http://h.example/dir/page.html")

// collect returns entries as lines: relation, URL, name, and the error.
func collect(seq iter.Seq2[fetch.Entry, error]) []string {
	var lines []string
	for e, err := range seq {
		switch {
		case err != nil:
			lines = append(lines, "error "+string(fetch.CodeOf(err)))
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
		{"embedded things", `<script src=a.js></script><iframe src=b></iframe><frame src=c><object data=d></object><video src=e poster=f></video><body background=g><input type=image src=h>`,
			[]string{"script http://h.example/dir/a.js", "iframe http://h.example/dir/b", "frame http://h.example/dir/c", "object http://h.example/dir/d",
				"video http://h.example/dir/e", "img http://h.example/dir/f", "body http://h.example/dir/g", "input http://h.example/dir/h"}},
		{"scripts and comments hold no links", `<script>"<a href=x>"</script><!-- <a href=y> --><style><a href=z></style><textarea><a href=w></textarea>`, nil},
		{"an area", `<area href=x alt="the area">`, []string{"a http://h.example/dir/x the area"}},
		{"octets that are no UTF-8", "<a href=\"caf\xe9\">caf\xe9</a>", []string{"a http://h.example/dir/caf%E9 caf\uFFFD"}},
	}
	for _, tt := range tests {
		if got := collect(links.HTML(iotest.OneByteReader(strings.NewReader(tt.html)), base)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
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
		{"list cut off", links.URIList(broken("a:b\nc:d"), base), []string{"item a:b", "item c:d", "error transfer incomplete"}},
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

func TestLeavingEarlyReadsNoMore(t *testing.T) {
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
		{"text/uri-list", nil, // where blanks and brackets are those around a URL
			[]string{"item http://h.example/dir/ahref=x"}, true},
		{"text/html", own, []string{"item x:own"}, true},
		{"text/plain", nil, nil, false},
		{"", nil, nil, false},
	}
	for _, tt := range tests {
		resp := &fetch.Response{Meta: fetch.Meta{ContentType: tt.contentType}, URL: base, Entries: tt.own,
			Body: io.NopCloser(strings.NewReader("<a href=x>"))}
		seq, ok := links.Entries(resp)
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
	entries, ok := links.Entries(resp)
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
