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
// for pages, which have a modification time; "img", "video" and "enclosure" for their media; and "self"
// and "next" for the pages of a feed.
func XML(r io.Reader, base uri.URI) iter.Seq2[fetch.Entry, error] {
	return readXML(r, base, maxXML, false)
}

func readXML(r io.Reader, base uri.URI, limit int64, text bool) iter.Seq2[
	fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		d := &document{base: base, yield: yield, isText: text}
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
	base     uri.URI
	yield    func(fetch.Entry, error) bool // gets the links, unless feed is set
	feed     *feedReader                   // gets the items of a feed
	stopped  bool                          // no more is wanted
	isText   bool                          // it may be a text
	decoded  bool                          // it is converted to UTF-8, whatever it declares
	bases    []scopedBase                  // outside of the open elements with xml:base
	root     string
	depth    int             // of the open element
	text     strings.Builder // of the open element
	open     bool            // an element is open
	isOpaque bool            // the open guid is not a URL
	page     fetch.Entry     // the current page of a sitemap
	hasPage  bool            // page is set
}

// A scopedBase is the base URL around an element with xml:base.
type scopedBase struct {
	depth int // of the element
	base  uri.URI
}

// maxBases bounds the depth of elements with xml:base.
const maxBases = 64

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
	in = bufio.NewReader(limited)
	start, _ := in.Peek(len("\x00<\x00?\x00x"))
	if enc := wide(start, ""); enc != nil {
		in, d.decoded = bufio.NewReader(enc.NewDecoder().Reader(in)), true
	}
	token := &io.LimitedReader{R: in, N: 1}
	var err error
	if d.isText && !isMarkup(in) {
		err = d.readLines(in)
	} else {
		err = d.readTokens(token)
	}
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
	if d.decoded {
		tokens.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	}
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
		case xml.ProcInst:
			attrs, i := instruction(t.Inst)
			if t.Target == "xml-stylesheet" && d.feed == nil && i >= 0 {
				d.emit(entry(d.base, attrs[i].val, "stylesheet"))
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
	attr := func(key string) string {
		for _, a := range t.Attr {
			if a.Name.Local == key {
				return a.Value
			}
		}
		return ""
	}
	if d.root == "urlset" && name == "link" && attr("rel") == "alternate" && attr("href") != "" {
		d.emit(entry(d.base, attr("href"), "item")) // the page in another language
	}
	if !isFeedRoot(d.root) {
		return
	}
	if d.feed != nil {
		d.feed.start(d.depth, name, attr)
		d.stopped = d.feed.More
		return
	}
	for _, a := range t.Attr {
		if a.Name.Space == "xml" && a.Name.Local == "base" && len(d.bases) < maxBases {
			if ref, err := parseRef(a.Value); err == nil {
				d.bases = append(d.bases, scopedBase{d.depth, d.base})
				d.base = d.base.Resolve(ref)
			}
		}
	}
	d.emitLink(t.Name.Space, name, attr)
}

// emitLink emits the link of a start tag with the prefix space.
func (d *document) emitLink(space, name string, attr func(string) string) {
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
	case space == "media" && name == "content" && attr("url") != "": // Media RSS
		d.emit(entry(d.base, attr("url"), "enclosure"))
	case space == "media" && name == "thumbnail" && attr("url") != "":
		d.emit(entry(d.base, attr("url"), "img"))
	case name == "guid":
		d.isOpaque = attr("isPermaLink") == "false"
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
	case d.root == "rss" && name == "guid" && !d.isOpaque && strings.Contains(text, "://"):
		d.emit(entry(d.base, text, "item"))
	}
	if n := len(d.bases); n > 0 && d.bases[n-1].depth == d.depth {
		d.base, d.bases = d.bases[n-1].base, d.bases[:n-1]
	}
	d.depth--
}

func (d *document) emit(e fetch.Entry) { d.stopped = d.stopped || !d.yield(e, nil) }
