package serve

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxFeedItems = 1000     // items of a feed that are shown
	maxFeedText  = 64 << 10 // bytes of a title, link or summary
	maxSummary   = 400      // bytes of a summary that are shown
)

// A feed is an Atom (RFC 4287) or RSS document.
type feed struct {
	title, link string
	items       []feedItem // as in the document
	more        bool       // the document has more items
}

// A feedItem is an entry of an Atom feed or an item of an RSS feed.
type feedItem struct {
	title, link, media, summary string
	date                        time.Time
}

// isFeed reports whether an XML document is a feed, by its root element.
func isFeed(kind string, body *bufio.Reader) bool {
	if !strings.HasSuffix(kind, "/xml") && !strings.HasSuffix(kind, "+xml") {
		return false
	}
	first, _ := body.Peek(min(maxHead, max(body.Buffered(), sniffSize)))
	tokens := newFeedDecoder(bytes.NewReader(first))
	for {
		token, err := tokens.RawToken()
		if err != nil {
			return false
		}
		if start, ok := token.(xml.StartElement); ok {
			switch strings.ToLower(start.Name.Local) {
			case "feed", "rss", "rdf":
				return true
			}
			return false
		}
	}
}

func newFeedDecoder(r io.Reader) *xml.Decoder {
	tokens := xml.NewDecoder(r)
	tokens.Strict, tokens.CharsetReader, tokens.Entity = false, charset.NewReaderLabel, xml.HTMLEntity
	return tokens
}

// parseFeed parses a feed. If the document is malformed, it returns the items before the error.
func parseFeed(r io.Reader) (feed, error) {
	limited := &io.LimitedReader{R: r, N: maxText + 1}
	p := feedParser{}
	err := p.read(newFeedDecoder(limited))
	switch {
	case limited.N <= 0:
		p.more, err = true, nil
	case err == io.EOF:
		err = nil
	default:
		if wrong := (*xml.SyntaxError)(nil); errors.As(err, &wrong) {
			err = &fetch.Error{Code: fetch.ErrProtocol, Err: err}
		}
	}
	return p.feed, err
}

// A feedParser is the state of parseFeed. Elements are identified by their local names, because
// feeds often have wrong namespaces.
type feedParser struct {
	feed
	item  *feedItem // nil outside of items
	atom  bool
	depth int    // of the open element
	base  int    // depth of the element whose children are fields: a feed, channel or item
	field string // the open field, or ""
	html  bool   // the field has HTML
	text  strings.Builder
}

// read reads raw tokens, because the decoder then does not keep a stack of elements.
func (p *feedParser) read(tokens *xml.Decoder) error {
	for {
		token, err := tokens.RawToken()
		if err != nil || p.more {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			p.depth++
			p.start(t)
		case xml.CharData:
			if p.field != "" && p.text.Len()+len(t) <= maxFeedText {
				p.text.Write(t)
			}
		case xml.EndElement:
			if p.field != "" && p.depth == p.base+1 {
				p.end()
			}
			if p.item != nil && p.depth == p.base {
				p.items, p.item, p.base = append(p.items, *p.item), nil, p.base-1
			}
			p.depth--
		}
	}
}

func (p *feedParser) start(t xml.StartElement) {
	name := strings.ToLower(t.Name.Local)
	attr := func(key string) string {
		for _, a := range t.Attr {
			if a.Name.Local == key {
				return a.Value[:min(len(a.Value), maxFeedText)]
			}
		}
		return ""
	}
	switch {
	case p.depth == 1, name == "channel" && p.depth == 2:
		p.base, p.atom = p.depth, name == "feed"
		return
	case p.item == nil && (name == "item" || name == "entry") && p.depth <= 3:
		if len(p.items) == maxFeedItems {
			p.more = true
		}
		p.item, p.base = &feedItem{}, p.depth
		return
	case p.depth != p.base+1:
		return
	}
	p.field, p.html = name, attr("type") == "html" || !p.atom && (name == "title" || name == "description" || name == "encoded")
	p.text.Reset()
	switch rel := attr("rel"); {
	case name == "link" && attr("href") != "" && (rel == "" || rel == "alternate"):
		p.setLink(attr("href"))
	case name == "link" && rel == "enclosure" && p.item != nil:
		p.item.media = attr("href")
	case name == "enclosure" && p.item != nil:
		p.item.media = attr("url")
	case name == "guid" && attr("isPermaLink") == "false":
		p.field = ""
	}
}

func (p *feedParser) setLink(link string) {
	switch {
	case p.item == nil && p.feed.link == "":
		p.feed.link = link
	case p.item != nil && p.item.link == "":
		p.item.link = link
	}
}

// feedTimes are the formats of times in feeds: RFC 3339 for Atom and RFC 822 for RSS, with common variants.
var feedTimes = []string{time.RFC3339, time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST",
	"2 Jan 2006 15:04:05 -0700", "2006-01-02T15:04Z07:00", time.DateOnly}

// end sets the field that ends.
func (p *feedParser) end() {
	name, text := p.field, p.text.String()
	p.field = ""
	if p.html {
		text, _ = links.Text(strings.NewReader(text), "text/html; charset=utf-8") // a strings.Reader has no errors
	}
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
	case name == "link":
		p.setLink(text)
	case p.item == nil:
		if name == "title" && p.title == "" {
			p.title = text
		}
	case name == "title" && p.item.title == "":
		p.item.title = text
	case name == "guid":
		if u, err := uri.Parse(text); err == nil && u.Host() != "" {
			p.setLink(text)
		}
	case (name == "summary" || name == "description" || name == "content" || name == "encoded") && p.item.summary == "":
		p.item.summary = text
	case name == "published" || name == "pubdate" || name == "date" || name == "updated" && p.item.date.IsZero():
		for _, layout := range feedTimes {
			if t, err := time.Parse(layout, text); err == nil && fetch.PlausibleTime(t) {
				p.item.date = t
				break
			}
		}
	}
}

// A feedRow is an item of a feed in the form that the template shows.
type feedRow struct {
	Title, Link, Target string
	Media               string
	Date, Stamp         string
	Summary             string
}

// feed writes a feed: its items, most recent first.
func (p *page) feed(f feed, err error) error {
	r := &reading{listing: p.here, index: map[uri.URI]int{}}
	link := func(ref string) (uri.URI, string) {
		target, err := uri.ParseRef(ref)
		u := p.here.url.Resolve(target)
		if ref == "" || err != nil || !u.IsAbs() {
			return uri.URI{}, ""
		}
		return u, p.s.link("/view", p.here.to(u))
	}
	slices.SortStableFunc(f.items, func(a, b feedItem) int { return b.date.Compare(a.date) })
	var rows []feedRow
	for _, item := range f.items {
		row := feedRow{Title: fetch.Printable(item.title), Summary: shorten(fetch.Printable(item.summary), maxSummary)}
		u, to := link(item.link)
		if row.Link = to; to != "" {
			r.add(p.here.to(u).url)
			if u.Origin() != p.here.url.Origin() {
				row.Target = fetch.Printable(u.Host())
			}
		}
		_, row.Media = link(item.media)
		if row.Title == "" {
			row.Title, row.Summary = shorten(row.Summary, 80), ""
		}
		if row.Title == "" {
			row.Title = "(no title)"
		}
		if !item.date.IsZero() {
			row.Date, row.Stamp = item.date.UTC().Format("2006-01-02 15:04"), item.date.UTC().Format(time.RFC3339)
		}
		rows = append(rows, row)
	}
	p.s.readings.add(r)
	_, site := link(f.link)
	p.put("feed", struct {
		Site  string
		Rows  []feedRow
		Total int
	}{site, rows, len(rows)})
	if f.more {
		p.put("cutfeed", struct {
			Total int
			Link  string
		}{len(rows), p.s.link("/download", p.address)})
	}
	return err
}

// shorten returns at most n bytes of a text, without a part of a word.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = strings.ToValidUTF8(text[:n], "")
	if at := strings.LastIndexByte(text, ' '); at > n/2 {
		text = text[:at]
	}
	return text + " …"
}
