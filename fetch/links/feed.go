package links

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxFeedItems = 1000    // items that ReadFeed returns
	maxFeed      = 4 << 20 // bytes that ReadFeed reads
)

// A Feed is an RSS or Atom document (RFC 4287), as people read it. Its texts have no markup.
type Feed struct {
	Title string
	Site  uri.URI    // the web site of the feed; zero if it names none
	Items []FeedItem // in the order of the document
	More  bool       // the document has more items than ReadFeed returns
}

// A FeedItem is an item of an RSS feed or an entry of an Atom feed. Missing fields are zero.
type FeedItem struct {
	Title, Summary string
	Page           uri.URI
	Media          uri.URI // an enclosure
	Date           time.Time
}

func isFeedRoot(name string) bool {
	switch name {
	case "rss", "rdf", "feed":
		return true
	}
	return false
}

// IsFeed reports whether an XML document is a feed, by its beginning.
func IsFeed(first []byte) bool {
	tokens := newDecoder(bytes.NewReader(first))
	for {
		token, err := tokens.RawToken()
		if err != nil {
			return false
		}
		if start, ok := token.(xml.StartElement); ok {
			return isFeedRoot(strings.ToLower(start.Name.Local))
		}
	}
}

// ReadFeed reads a feed with the URL base, at most 1000 items in 4 MiB. If the document is
// malformed, it returns the items before the error. A document of another kind has no items.
func ReadFeed(r io.Reader, base uri.URI) (Feed, error) {
	d := &document{base: base, feed: &feedReader{base: base}}
	err := d.read(r, maxFeed)
	if fetch.CodeOf(err) == fetch.ErrTooLarge {
		d.feed.More, err = true, nil
	}
	return d.feed.Feed, err
}

type feedReader struct {
	Feed
	base  uri.URI
	item  *FeedItem // nil outside of items
	atom  bool
	level int    // depth of the element whose children are fields: a feed, channel or item
	field string // the open field, or ""
	html  bool   // the field has HTML
	text  strings.Builder
}

func (f *feedReader) start(depth int, name string, attr func(string) string) {
	switch {
	case depth == 1, name == "channel" && depth == 2:
		f.level, f.atom = depth, name == "feed"
		return
	case f.item == nil && (name == "item" || name == "entry") && depth <= 3:
		f.More = len(f.Items) == maxFeedItems
		f.item, f.level = &FeedItem{}, depth
		return
	case depth != f.level+1:
		return
	}
	f.field, f.html = name, attr("type") == "html"
	if name == "title" || name == "description" || name == "encoded" {
		f.html = f.html || !f.atom
	}
	f.text.Reset()
	switch href, rel := attr("href"), attr("rel"); {
	case name == "link" && href != "" && (rel == "" || rel == "alternate"):
		f.setPage(href)
	case name == "link" && rel == "enclosure" && f.item != nil:
		f.item.Media = f.resolve(href)
	case name == "enclosure" && f.item != nil:
		f.item.Media = f.resolve(attr("url"))
	case name == "guid" && attr("isPermaLink") == "false":
		f.field = ""
	}
}

// resolve returns the URL of a reference, or zero if it has none.
func (f *feedReader) resolve(ref string) uri.URI {
	if ref == "" {
		return uri.URI{}
	}
	return entry(f.base, ref, "").URL
}

// setPage sets the page of the item or the site of the feed, unless it has one.
func (f *feedReader) setPage(ref string) {
	page := &f.Site
	if f.item != nil {
		page = &f.item.Page
	}
	if page.IsZero() {
		*page = f.resolve(ref)
	}
}

func (f *feedReader) addText(text []byte) {
	if f.field != "" && f.text.Len()+len(text) <= maxText {
		f.text.Write(text)
	}
}

func (f *feedReader) end(depth int) {
	if f.field != "" && depth == f.level+1 {
		f.endField()
	}
	if f.item != nil && depth == f.level {
		f.Items, f.item, f.level = append(f.Items, *f.item), nil, f.level-1
	}
}

func (f *feedReader) endField() {
	name, text := f.field, f.text.String()
	f.field = ""
	if f.html {
		text, _ = Text(strings.NewReader(text), "text/html; charset=utf-8") // a strings.Reader has no errors
	}
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
	case name == "link":
		f.setPage(text)
	case f.item != nil:
		f.setItem(f.item, name, text)
	case name == "title" && f.Title == "":
		f.Title = text
	}
}

// setItem sets what an element of an item is about. A later element does not replace an earlier one,
// but a date of publication replaces that of a change.
func (f *feedReader) setItem(item *FeedItem, name, text string) {
	switch name {
	case "title":
		if item.Title == "" {
			item.Title = text
		}
	case "guid":
		if u, err := uri.Parse(text); err == nil && u.Host() != "" {
			f.setPage(text)
		}
	case "summary", "description", "content", "encoded":
		if item.Summary == "" {
			item.Summary = text
		}
	case "updated":
		if item.Date.IsZero() {
			item.Date, _ = parseTime(text)
		}
	case "published", "pubdate", "date":
		if t, ok := parseTime(text); ok {
			item.Date = t
		}
	}
}

// xmlTimes lists the layouts of times: RFC 3339 for Atom and sitemaps, RFC 822 for RSS, and common
// variants.
var xmlTimes = []string{time.RFC3339, time.RFC1123Z, time.RFC1123,
	"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
	"2006-01-02T15:04Z07:00", time.DateOnly}

// parseTime returns the time of a feed or sitemap. It returns false for an unknown layout and for a
// date that no document has.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range xmlTimes {
		if t, err := time.Parse(layout, text); err == nil && fetch.PlausibleTime(t) {
			return t, true
		}
	}
	return time.Time{}, false
}
