package links

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Sitemap reads a sitemap as [XML] does, or as a text file with a URL in each line (sitemaps.org).
func Sitemap(r io.Reader, base uri.URI) iter.Seq2[fetch.Entry, error] {
	return readXML(r, base, maxXML, true)
}

// isMarkup reports whether a document begins with a tag.
func isMarkup(in *bufio.Reader) bool {
	start, _ := in.Peek(sniffLength) // an error occurs again
	text := strings.TrimLeft(strings.TrimPrefix(string(start), "\ufeff"), blanks)
	return text == "" || text[0] == '<'
}

// readLines reads a sitemap that is a text file. Lines that are not complete URLs are omitted, such as
// those of an error message.
func (d *document) readLines(in *bufio.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxText)
	for !d.stopped && lines.Scan() {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if u, err := uri.Parse(line); err == nil && u.IsAbs() && u.Host() != "" {
			d.emit(entry(d.base, line, "item"))
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return tooLong("a line", maxText, d.base)
	} else if err != nil {
		return err
	}
	return io.EOF
}

// sitemap handles the end of an element.
func (d *document) sitemap(name, text string) {
	emit := func(rel string) {
		if text != "" {
			d.emit(entry(d.base, text, rel))
		}
	}
	switch name {
	case "content_loc": // this and the next ones are Google's extensions for images and videos
		emit("video")
	case "thumbnail_loc":
		emit("img")
	case "player_loc":
		emit("iframe")
	case "loc":
		rel, inPage := "item", !d.hasPage
		if d.root == "sitemapindex" {
			rel = "sitemap"
		} else if !inPage {
			rel = "img" // an image of the page (the extension for images)
		}
		e := entry(d.base, text, rel)
		if d.root == "sitemapindex" && e.Kind != fetch.EntryError {
			e.Kind = fetch.EntryListing
		}
		if inPage {
			d.page, d.hasPage = e, true
		} else {
			d.emit(e)
		}
	case "lastmod":
		if t, ok := parseTime(text); ok && d.hasPage {
			d.page.ModTime = t
		}
	case "url", "sitemap":
		if d.hasPage {
			d.emit(d.page)
		}
		d.hasPage = false
	}
}
