package links

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

func FuzzFeed(f *testing.F) {
	f.Add(`<feed><title>a</title><entry><title type="html">&lt;b></title><link href="/x"/><updated>2026-09-12T08:00:00Z</updated></entry></feed>`)
	f.Add(`<rss><channel><item><title>x</title><link>/x</link><pubDate>Mon, 05 Oct 2026 08:00:00 GMT</pubDate></item></channel></rss>`)
	f.Add(`<rdf:RDF><channel/><item></item></item></rdf:RDF></a></b><entry>`)
	base := uri.MustParse("http://h.example/")
	f.Fuzz(func(t *testing.T, text string) {
		IsFeed([]byte(text))
		feed, _ := ReadFeed(strings.NewReader(text), base)
		if len(feed.Items) > maxFeedItems {
			t.Errorf("%d items", len(feed.Items))
		}
		for _, item := range feed.Items {
			if len(item.Title) > 4*maxText || len(item.Summary) > 4*maxText {
				t.Errorf("a title of %d bytes, a summary of %d bytes", len(item.Title), len(item.Summary))
			}
			if !item.Page.IsZero() && !item.Page.IsAbs() || !item.Media.IsZero() && !item.Media.IsAbs() {
				t.Errorf("relative: %v %v", item.Page, item.Media)
			}
		}
		for range XML(strings.NewReader(text), base) {
		}
	})
}
