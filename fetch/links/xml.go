package links

import (
	"bufio"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

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
		in := bufio.NewReader(r)
		r = in
		if mark, _ := in.Peek(2); string(mark) == "\x1f\x8b" {
			z, err := gzip.NewReader(in)
			if err != nil {
				yield(fetch.Entry{}, &fetch.Error{Op: "read", URL: base.Redacted(), Code: fetch.ErrProtocol, Err: err})
				return
			}
			r = z
		}
		limited := &io.LimitedReader{R: r, N: limit + 1}
		token := &io.LimitedReader{R: limited}
		d := &document{base: base, yield: yield, tokens: xml.NewDecoder(token), token: token}
		d.tokens.Strict, d.tokens.CharsetReader, d.tokens.Entity = false, charset.NewReaderLabel, xml.HTMLEntity
		err := d.read()
		switch {
		case d.stopped:
			return
		case token.N <= 0:
			err = tooLong("a tag or a text of a sitemap or feed", maxXMLToken, base)
		case err == io.EOF && limited.N > 0:
			return
		case limited.N <= 0:
			err = tooLong("a sitemap or feed", int(limit), base)
		}
		if wrong := (*xml.SyntaxError)(nil); errors.As(err, &wrong) {
			err = &fetch.Error{Op: "read", URL: base.Redacted(), Code: fetch.ErrProtocol, Err: err}
		}
		yield(fetch.Entry{}, err)
	}
}

// A document is a sitemap or feed being read. Elements are identified by their local names.
type document struct {
	base    uri.URI
	yield   func(fetch.Entry, error) bool
	stopped bool // yield returned false
	tokens  *xml.Decoder
	token   *io.LimitedReader // limits the next token
	root    string
	text    strings.Builder // of the open element
	open    bool            // an element is open
	page    fetch.Entry     // the current page of a sitemap
	hasPage bool            // page is set
}

// maxText bounds the text of an element that may be a reference, in bytes.
const maxText = 64 << 10

// read reads raw tokens, because the decoder then does not keep a stack of elements.
func (d *document) read() error {
	for !d.stopped {
		d.token.N = maxXMLToken + 1
		token, err := d.tokens.RawToken()
		if err != nil || d.token.N <= 0 {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			d.start(t)
		case xml.CharData:
			if d.open && d.text.Len()+len(t) <= maxText {
				d.text.Write(t)
			}
		case xml.EndElement:
			d.end(t.Name.Local)
		}
	}
	return nil
}

func (d *document) start(t xml.StartElement) {
	name := t.Name.Local
	if d.root == "" {
		d.root = strings.ToLower(name)
	}
	d.text.Reset()
	d.open = true
	attr := func(key string) string {
		for _, a := range t.Attr {
			if a.Name.Local == key {
				return a.Value
			}
		}
		return ""
	}
	switch d.root {
	case "rss", "rdf", "feed":
	default:
		return
	}
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
	case d.root == "sitemapindex" || d.root == "urlset":
		d.sitemap(name, text)
	case (d.root == "rss" || d.root == "rdf") && name == "link" && text != "":
		d.emit(entry(d.base, text, "item"))
	}
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
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", time.DateOnly} {
			if t, err := time.Parse(layout, text); err == nil && fetch.PlausibleTime(t) && d.hasPage {
				d.page.ModTime = t
				break
			}
		}
	case "url", "sitemap":
		if d.hasPage {
			d.emit(d.page)
		}
		d.hasPage = false
	}
}

func (d *document) emit(e fetch.Entry) { d.stopped = d.stopped || !d.yield(e, nil) }
