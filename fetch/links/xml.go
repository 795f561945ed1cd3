package links

import (
	"bufio"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"iter"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxXML bounds a sitemap or feed after decompression, in bytes. The protocol allows 50 MiB
// (sitemaps.org).
const maxXML = 64 << 20

// maxXMLToken bounds a tag or a text of a sitemap or feed, in bytes, because the decoder keeps it in
// memory.
const maxXMLToken = 4 << 20

// XML reads a sitemap, an index of sitemaps, or a feed (RSS, Atom) as a stream, also compressed with
// gzip, and yields its links. For other XML it yields none. A document of more than 64 MiB is an
// error of class ErrTooLarge.
//
// Rel is "sitemap" for the sitemaps of an index, which are of kind fetch.EntryListing. It is "item"
// for pages, which have a modification time; "img" and "enclosure" for their media; and "self" and
// "next" for the pages of a feed.
func XML(r io.Reader, base uri.URI) iter.Seq2[fetch.Entry, error] { return readXML(r, base, maxXML) }

func readXML(r io.Reader, base uri.URI, limit int64) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		d := &document{base: base, yield: yield}
		if err := d.read(r, limit); err != nil {
			yield(fetch.Entry{}, err)
		}
	}
}

// newDecoder returns a decoder for documents that browsers and feed readers accept.
func newDecoder(r io.Reader) *xml.Decoder {
	d := xml.NewDecoder(r)
	d.Strict, d.CharsetReader, d.Entity = false, charset.NewReaderLabel, xml.HTMLEntity
	return d
}

// A document is a sitemap or feed being read. Elements are identified by their local names, because
// many feeds have wrong namespaces.
type document struct {
	base    uri.URI
	yield   func(fetch.Entry, error) bool // gets the links, unless feed is set
	feed    *feedReader                   // gets the items of a feed
	stopped bool                          // no more is wanted
	root    string
	depth   int             // of the open element
	text    strings.Builder // of the open element
	open    bool            // an element is open
	page    fetch.Entry     // the current page of a sitemap
	hasPage bool            // page is set
}

// maxText bounds the text of an element that may be a reference, in bytes.
const maxText = 64 << 10

// read reads a document of at most limit bytes, until its end or until it is stopped.
func (d *document) read(r io.Reader, limit int64) error {
	in := bufio.NewReader(r)
	r = in
	if mark, _ := in.Peek(2); string(mark) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return &fetch.Error{Op: "read", URL: d.base.Redacted(), Code: fetch.ErrProtocol, Err: err}
		}
		r = z
	}
	limited := &io.LimitedReader{R: r, N: limit + 1}
	token := &io.LimitedReader{R: limited}
	err := d.readTokens(token)
	switch {
	case d.stopped:
		return nil
	case token.N <= 0:
		return tooLong("a tag or a text of a sitemap or feed", maxXMLToken, d.base)
	case limited.N <= 0:
		return tooLong("a sitemap or feed", int(limit), d.base)
	case err == io.EOF:
		return nil
	}
	if wrong := (*xml.SyntaxError)(nil); errors.As(err, &wrong) {
		return &fetch.Error{Op: "read", URL: d.base.Redacted(), Code: fetch.ErrProtocol, Err: err}
	}
	return err
}

// readTokens reads raw tokens, because the decoder then does not keep a stack of elements.
func (d *document) readTokens(limited *io.LimitedReader) error {
	tokens := newDecoder(limited)
	for !d.stopped {
		limited.N = maxXMLToken + 1
		token, err := tokens.RawToken()
		if err != nil || limited.N <= 0 {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			d.start(t)
		case xml.CharData:
			if d.open && d.text.Len()+len(t) <= maxText {
				d.text.Write(t)
			}
			if d.feed != nil {
				d.feed.addText(t)
			}
		case xml.EndElement:
			d.end(strings.ToLower(t.Name.Local))
		}
	}
	return nil
}

func (d *document) start(t xml.StartElement) {
	name := strings.ToLower(t.Name.Local)
	if d.root == "" {
		d.root = name
	}
	d.depth++
	d.text.Reset()
	d.open = true
	if !feedRoots[d.root] {
		return
	}
	attr := func(key string) string {
		for _, a := range t.Attr {
			if a.Name.Local == key {
				return a.Value
			}
		}
		return ""
	}
	if d.feed != nil {
		d.feed.start(d.depth, name, attr)
		d.stopped = d.feed.More
		return
	}
	d.emitLink(name, attr)
}

func (d *document) emitLink(name string, attr func(string) string) {
	switch href := attr("href"); {
	case name == "link" && href != "":
		rel := attr("rel")
		if rel == "" || rel == "alternate" {
			rel = "item"
		}
		e := entry(d.base, href, rel)
		e.ContentType = attr("type")
		d.emit(e)
	case name == "enclosure" && attr("url") != "":
		d.emit(entry(d.base, attr("url"), "enclosure"))
	case name == "content" && attr("src") != "":
		d.emit(entry(d.base, attr("src"), "enclosure"))
	}
}

func (d *document) end(name string) {
	text := ""
	if d.open {
		text = strings.TrimSpace(d.text.String())
	}
	d.open = false
	switch {
	case d.feed != nil:
		d.feed.end(d.depth)
	case d.root == "sitemapindex" || d.root == "urlset":
		d.sitemap(name, text)
	case (d.root == "rss" || d.root == "rdf") && name == "link" && text != "":
		d.emit(entry(d.base, text, "item"))
	}
	d.depth--
}

func (d *document) sitemap(name, text string) {
	switch name {
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

func (d *document) emit(e fetch.Entry) { d.stopped = d.stopped || !d.yield(e, nil) }
