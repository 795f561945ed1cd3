package serve

import (
	"bufio"
	"strings"
	"testing"
)

func FuzzFeed(f *testing.F) {
	f.Add(`<feed><title>a</title><entry><title type="html">&lt;b></title><link href="/x"/><updated>2026-09-12T08:00:00Z</updated></entry></feed>`)
	f.Add(`<rss><channel><item><title>x</title><link>/x</link><pubDate>Mon, 05 Oct 2026 08:00:00 GMT</pubDate></item></channel></rss>`)
	f.Add(`<rdf:RDF><channel/><item></item></item></rdf:RDF></a></b><entry>`)
	f.Fuzz(func(t *testing.T, text string) {
		isFeed("text/xml", bufio.NewReader(strings.NewReader(text)))
		parsed, _ := parseFeed(strings.NewReader(text))
		if len(parsed.items) > maxFeedItems {
			t.Errorf("%d items", len(parsed.items))
		}
		for _, item := range parsed.items {
			if len(item.title) > 4*maxFeedText || len(item.link) > maxFeedText || len(shorten(item.summary, maxSummary)) > maxSummary+4 {
				t.Errorf("a title of %d bytes, a link of %d bytes", len(item.title), len(item.link))
			}
		}
	})
}
