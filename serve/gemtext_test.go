package serve_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/fetchtest/servers/spartand"
	"github.com/urlget/urlget/serve"
)

const capsule = "# A <capsule>\r\n\r\nA paragraph, see http://www.example/.\n## Links\n=> sub/page.gmi A page\n=> /pic.PNG A picture\n=> ../up\n" +
	"=> gemini://other.example/ Elsewhere\n=> http://[bad Broken\n=> entry.gmi 2024-05-06 - An entry\n=> old.gmi 2024-05-05 Older\n* one\n* two\n*three\n> first\n> second\n" +
	"```a drawing\n# no title\n=> no link\n<pre>\n```\n###Third\n"

func TestGemtextIsRendered(t *testing.T) {
	t.Parallel()
	g := geminid.Start(t, geminid.Options{Tree: fstest.MapFS{"d/a.gmi": {Data: []byte(capsule)}, "d/entry.gmi": {Data: []byte("An entry\n")}}, Types: map[string]string{".gmi": "text/gemini; charset=utf-8"}})
	_, trusted := servers.Certificate()
	u := start(t, func(_ *serve.Options, o *fetch.Options) { o.TLS = trusted })
	p := u.open(g.URL + "/d/a.gmi")
	p.want(t, http.StatusOK, "<title>A &lt;capsule&gt;</title>", `<h1>A &lt;capsule&gt;</h1>`, `<h2 id="section1">Links</h2>`, `<h3 id="section2">Third</h3>`,
		"<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n<p>*three</p>", "<blockquote>\n<p>first</p>\n<p>second</p>\n</blockquote>",
		`<pre tabindex="0" role="group" aria-label="a drawing"># no title`+"\n=&gt; no link\n&lt;pre&gt;\n</pre>", `<div class="link wrong">http://[bad Broken</div>`,
		`<time datetime="2024-05-06">2024-05-06</time>`, ">An entry</a>", "<small>other.example</small>", `<a href="#section1">Links</a>`)
	for _, want := range []string{"/d/sub/page.gmi", "/up", "/pic.PNG", "u=http://www.example/", "u=gemini://other.example/"} {
		p.find(t, "/view?", want)
	}
	if got := p.find(t, "/content?", "/pic.PNG"); !strings.Contains(p.text, "<details><summary>Show the image</summary>") {
		t.Errorf("the image %s is not loaded on request", got)
	}
	u.get(p.find(t, "/view?", "/d/entry.gmi")).want(t, http.StatusOK, ">Next</a>", ">Listing</a>") // of the dated links
	u.get("/").want(t, http.StatusOK, ">A &lt;capsule&gt;</a>")                                    // the history has the title
}

func TestPromptsOfSpartanAreBoxes(t *testing.T) {
	t.Parallel()
	s := spartand.Start(t, spartand.Options{Tree: fstest.MapFS{"a.gmi": {Data: []byte("=: /post Write <here>\n")}}, Types: map[string]string{".gmi": "text/gemini"}})
	start(t).open(s.URL+"/a.gmi").want(t, http.StatusOK, `aria-label="Write &lt;here&gt;"`, `action="/search"`, `name="words"`)
}

func TestDocumentsHaveTitles(t *testing.T) {
	t.Parallel()
	u := start(t)
	for _, tt := range []struct{ name, kind, text, want string }{
		{"page", "text/html", "<!doctype html><head><title> A\n &amp;amp; <b>B </title><body><title>no</title>", "A &amp;amp; &lt;b&gt;B"},
		{"page in Latin-1", "text/html; charset=iso-8859-1", "<title>caf\xe9</title>", "café"},
		{"page without a title", "text/html", "<body><title>no</title>", "x – 127.0.0.1"},
		{"message", "message/rfc822", "From: a\nSubject: =?utf-8?q?P=C3=A4rs?=\n  and more\n\nSubject: no\n", "Pärs and more"},
		{"text", "text/plain", "# no\n", "x – 127.0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := web(t, tt.kind, tt.text)
			u.open(s.URL+"/x").want(t, http.StatusOK, "<title>"+tt.want+"</title>", "<h1>"+tt.want+"</h1>")
		})
	}
}
