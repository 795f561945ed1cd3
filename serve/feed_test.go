package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const atom = `<?xml version="1.0" encoding="iso-8859-1"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Fruit &amp; <![CDATA[<b>]]></title>
<link rel="self" href="/feed.xml"/><link href="/"/>
<entry><title>Apples</title><link href="apples.html"/><updated>2026-09-12T08:00:00Z</updated><summary type="html">&lt;p>An &lt;b>apple&lt;/b>&lt;script>alert(1)&lt;/script></summary></entry>
<entry><source><title>Another feed</title><link href="/other"/></source><title type="html">P&amp;eacute;ars &lt;i>fresh&lt;/i></title><link rel="alternate" href="http://other.example/pears"/>
<link rel="enclosure" href="/pear.ogg"/><published>2026-10-03T08:00:00Z</published><updated>2026-10-04T08:00:00Z</updated>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>A <em>pear</em></p></div></content></entry>
<entry><title><![CDATA[<script>alert(1)</script>]]></title><link href="javascript:alert(1)"/></entry></feed>`

const rss = `<rss version="2.0"><channel><title>Fruit news</title><link>/</link><image><title>A logo</title></image>
<item><title>Plums &amp;lt; pears</title><guid isPermaLink="false">/not-a-link</guid><description><![CDATA[<p>Plums <img src="http://beacon.example/">are blue.</p>]]></description><pubDate>Mon, 05 Oct 2026 08:00:00 GMT</pubDate></item>
<item><title>Figs</title><link>figs.html</link><enclosure url="/fig.mp3" type="audio/mpeg"/><pubDate>Tue, 6 Oct 2026 08:00:00 +0200</pubDate></item>
</channel></rss>`

const rdf = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="/"><title>Old news</title><link>/</link></channel><item><title>Quinces</title><link>/quince</link><dc:date>2001-02-03</dc:date></item></rdf:RDF>`

func TestFeedsAreListsOfNews(t *testing.T) {
	t.Parallel()
	served := map[string][2]string{"/atom": {"application/atom+xml", atom}, "/rss": {"text/xml; charset=utf-8", rss}, "/rdf": {"application/xml", rdf},
		"/other.xml": {"application/xml", "<feeds><item><title>no feed</title></item></feeds>"},
		"/cut":       {"application/rss+xml", strings.Split(rss, "<item><title>Figs")[0] + "<item <"},
		"/many":      {"application/rss+xml", "<rss><channel>" + strings.Repeat("<item><title>x</title></item>", 1500)},
		"/deep":      {"application/rss+xml", "<rss>" + strings.Repeat("<a>", 100_000) + "<item><title>x</title></item>"},
		"/endless":   {"application/rss+xml", "<rss><channel><title>Long</title><item><title>one</title></item><item><title>" + strings.Repeat("x", 5<<20)}}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", served[r.URL.Path][0])
		io.WriteString(w, served[r.URL.Path][1])
	}))
	t.Cleanup(web.Close)
	u := start(t)

	p := u.open(web.URL + "/atom")
	p.want(t, http.StatusOK, "<h1>Fruit &amp; &lt;b&gt;</h1>", `<time datetime="2026-10-03T08:00:00Z">2026-10-03 08:00</time>`, ">Péars fresh</a>",
		"<small>other.example</small>", "<p>A pear</p>", "<p>An apple</p>", "&lt;script&gt;alert(1)&lt;/script&gt;", "3 items", "Web site of the feed")
	p.without(t, "<script>alert", "Another feed", `href="javascript`)
	if strings.Index(p.text, "ars fresh") > strings.Index(p.text, ">Apples<") {
		t.Error("the latest item is not the first")
	}
	p.find(t, "/view?", "/pear.ogg")
	article := u.get(p.find(t, "/view?", "/apples.html"))
	article.want(t, http.StatusOK, ">Previous</a>", ">Listing</a>") // the items can be read one after the other

	p = u.open(web.URL + "/rss")
	p.want(t, http.StatusOK, "<h1>Fruit news</h1>", "Plums &lt; pears</span>", "<p>Plums are blue.</p>", ">Figs</a>", "2026-10-06 06:00", ">media</a>")
	p.without(t, "beacon.example", "A logo")
	u.open(web.URL+"/rdf").want(t, http.StatusOK, "<h1>Old news</h1>", ">Quinces</a>", "2001-02-03")
	u.open(web.URL+"/other.xml").want(t, http.StatusOK, "&lt;feeds&gt;")
	u.open(web.URL+"/cut").want(t, http.StatusOK, "Plums", "Incomplete:")
	u.open(web.URL+"/many").want(t, http.StatusOK, "1000 items", "Only the first 1000 items are shown.")
	u.open(web.URL+"/deep").want(t, http.StatusOK, "0 items")
	u.open(web.URL+"/endless").want(t, http.StatusOK, ">one<", "Only the first 1 items")
}
