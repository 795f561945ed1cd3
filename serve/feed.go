package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxSummary = 400 // bytes of a summary that are shown
	maxTitle   = 80  // bytes of a summary in place of a title
)

func isFeed(kind string, body *bufio.Reader) bool {
	if !strings.HasSuffix(kind, "/xml") && !strings.HasSuffix(kind, "+xml") {
		return false
	}
	first, _ := body.Peek(min(maxHead, max(body.Buffered(), sniffSize)))
	return links.IsFeed(first)
}

// putFeedOf offers the first feed that the head of an HTML page names.
func (p *page) putFeedOf(resp *fetch.Response, kind string, body *bufio.Reader) {
	head, _ := body.Peek(maxHead)
	if declaredType(resp.ContentType) != "" {
		kind = resp.ContentType
	}
	entries, _ := links.Read(bytes.NewReader(head), kind, p.here.url)
	for e := range entries {
		if (e.Rel == "alternate" || e.Rel == "feed") && isFeedType(e.ContentType) && p.mayLead(e.URL) {
			if form := p.followFormOf(p.here.to(e.URL), resp); form != nil {
				p.put("feedof", struct {
					Link   string
					Follow *followForm
				}{p.s.linkTo(p.here.to(e.URL)), form})
			}
			return
		}
	}
}

func isFeedType(contentType string) bool {
	kind := declaredType(contentType)
	return kind == "application/rss+xml" || kind == "application/atom+xml"
}

// mayLead reports whether the page may lead to a document at u.
func (p *page) mayLead(u uri.URI) bool {
	here, _ := p.s.Client.Scheme(p.here.url.Scheme())
	there, _ := p.s.Client.Scheme(u.Scheme())
	return there.Retrieves() && (here.Local || !there.Local) && !p.s.strays(p.here.url, u)
}

type feedRow struct {
	Title, Link, Target string
	Media               string
	Date, Stamp         string
	Summary             string
}

func (p *page) feed(f links.Feed, button *followForm) {
	r := newReading(p.here)
	slices.SortStableFunc(f.Items, func(a, b links.FeedItem) int { return b.Date.Compare(a.Date) })
	var rows []feedRow
	for _, item := range f.Items {
		rows = append(rows, p.feedRow(item))
		if !item.Page.IsZero() {
			r.add(p.here.to(item.Page).url, 0)
		}
	}
	p.s.readings.add(r)
	p.put("feed", struct {
		Site   string
		Follow *followForm
		Rows   []feedRow
		Total  int
	}{p.s.linkTo(p.here.to(f.Site)), button, rows, len(rows)})
	if f.More {
		p.put("cutfeed", struct {
			Total int
			Link  string
		}{len(rows), p.s.link("/download", p.address)})
	}
}

func (p *page) feedRow(item links.FeedItem) feedRow {
	row := feedRow{Link: p.s.linkTo(p.here.to(item.Page)), Media: p.s.linkTo(p.here.to(item.Media)),
		Title: itemTitle(item), Summary: shorten(fetch.Printable(item.Summary), maxSummary)}
	if row.Link != "" && item.Page.Origin() != p.here.url.Origin() {
		row.Target = fetch.Printable(item.Page.Host())
	}
	if item.Title == "" {
		row.Summary = ""
	}
	if !item.Date.IsZero() {
		date := item.Date.UTC()
		row.Date, row.Stamp = date.Format(minuteForm), date.Format(time.RFC3339)
	}
	return row
}

func itemTitle(item links.FeedItem) string {
	return cmp.Or(fetch.Printable(item.Title), shorten(fetch.Printable(item.Summary), maxTitle), "(no title)")
}

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
