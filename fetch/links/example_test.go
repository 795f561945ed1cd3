package links_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

func ExampleReadFeed() {
	const rss = `<rss><channel><title>Fruit news</title><link>/</link>
<item><title>Pears</title><link>pears.html</link><pubDate>Mon, 05 Oct 2026 08:00:00 GMT</pubDate>
<description>&lt;p>They are &lt;b>ripe&lt;/b></description></item></channel></rss>`
	feed, err := links.ReadFeed(strings.NewReader(rss), uri.MustParse("https://www.example/feed/"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(feed.Title, feed.Site)
	for _, item := range feed.Items {
		fmt.Println(item.Date.Format(time.DateOnly), item.Title, item.Page)
		fmt.Println(item.Summary)
	}
	// Output:
	// Fruit news https://www.example/
	// 2026-10-05 Pears https://www.example/feed/pears.html
	// They are ripe
}
