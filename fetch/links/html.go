package links

import (
	"errors"
	"io"
	"iter"
	"strings"

	"golang.org/x/net/html"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxToken = 16 << 20 // bytes of one tag, text or script
	maxName  = 256      // bytes of a link's text that are kept
)

// HTML reads an HTML page as a stream and yields its links, in the order in which they end. Base is
// the URL of the page; a base element changes it for the following links. The encoding of the page
// is that of its byte order mark or of a meta element, otherwise UTF-8 or windows-1252. As in
// browsers, paths are converted to UTF-8, and queries keep the encoding of the page.
//
// Rel is "a" for anchors and areas, "refresh" for a meta element, and "css" for references in
// styles. It is "cite" for sources of quotations and "longdesc" for descriptions. For link elements
// it is the first word of rel, such as "stylesheet" or "icon". Otherwise it is the name of the
// element, such as "img", "script" or "iframe". If a meta element robots asks robots not to follow
// links, Rel is "nofollow" for the anchors and areas after it. Name is the text of an anchor or the alt text of an
// image. A reference that is not a valid URL becomes an entry of kind fetch.EntryError.
//
// Servers generate index pages for directories, titled "Index of". For the files in them, ModTime
// is the time on the page, read as UTC. Size is the size on the page, or -1 if it is rounded. Links
// to the same directory in another order are omitted.
func HTML(r io.Reader, base uri.URI) iter.Seq2[fetch.Entry, error] {
	return readHTML(r, "", base)
}

// readHTML is HTML for a page with a content type, which may name the encoding.
func readHTML(r io.Reader, contentType string, base uri.URI) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		in, utf16 := fromUTF16(r)
		p := &page{tokens: html.NewTokenizer(in), base: base, yield: yield}
		if utf16 == nil {
			p.encoding = encodingOf(in, contentType)
		}
		p.tokens.SetMaxBuf(maxToken)
		for !p.stopped {
			switch p.tokens.Next() {
			case html.ErrorToken:
				p.end()
				return
			case html.TextToken:
				p.text(p.tokens.Text())
			case html.StartTagToken, html.SelfClosingTagToken:
				p.tag()
			case html.EndTagToken:
				p.styles = false
				p.titles = false
				if name, _ := p.tokens.TagName(); string(name) == "a" {
					p.closeAnchor()
				}
			}
		}
	}
}

// A page is an HTML page being read.
type page struct {
	tokens   *html.Tokenizer
	encoding pageEncoding
	base     uri.URI
	hasBase  bool // only the first base element counts
	nofollow bool // a meta element asks robots not to follow links
	styles   bool // the next text is a style sheet
	titles   bool // the next text is the title
	index    bool // the page is the index of a directory
	anchor   *fetch.Entry
	row      *row // the last link of an index
	yield    func(fetch.Entry, error) bool
	stopped  bool // yield returned false
}

func (p *page) emit(e fetch.Entry) {
	p.stopped = p.stopped || !p.yield(e, nil)
}

func (p *page) end() {
	p.closeAnchor()
	p.flush()
	err := p.tokens.Err()
	switch {
	case p.stopped || err == io.EOF:
		return
	case errors.Is(err, html.ErrBufferExceeded):
		err = tooLong("a piece of HTML", maxToken, p.base)
	}
	p.yield(fetch.Entry{}, err)
}

// text adds text to the open anchor or row, or reads it as a style sheet or title.
func (p *page) text(text []byte) {
	text, _ = p.encoding.decode(text)
	if p.styles {
		for _, s := range cssSpans(text) {
			p.emit(entry(p.base, s.ref, "css"))
		}
		return
	}
	if p.titles && strings.HasPrefix(strings.TrimSpace(string(text)), indexTitle) {
		p.index = true
	}
	if p.row != nil && p.anchor == nil && len(p.row.text) < maxRow {
		p.row.text += " " + string(text[:min(len(text), maxRow)])
	}
	if p.anchor == nil || len(p.anchor.Name) >= maxName {
		return
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	if words != "" && p.anchor.Name != "" {
		words = " " + words
	}
	p.anchor.Name += words[:min(len(words), maxName)]
}

func (p *page) closeAnchor() {
	if p.anchor != nil {
		p.anchor.Name = strings.ToValidUTF8(p.anchor.Name, "\uFFFD")
		if p.index {
			p.row = &row{entry: *p.anchor}
		} else {
			p.emit(*p.anchor)
		}
		p.anchor = nil
	}
}

// tag handles a start tag.
func (p *page) tag() {
	name, attrs, query := p.encoding.readTag(p.tokens, p.tokens.Raw())
	p.styles, p.titles = name == "style", name == "title"
	if name == "base" {
		p.base, p.hasBase = baseOf(p.base, p.hasBase, attrs)
		return
	}
	p.nofollow = p.nofollow || name == "meta" && forbidsLinks(attrs)
	if readByUs[name] {
		p.tokens.NextIsNotRawText()
	}
	if name == "a" {
		p.closeAnchor()
	}
	if endsRow(name) {
		p.flush()
	}
	alt, _ := value(attrs, "alt")
	for _, s := range spansOf(name, attrs) {
		e := query.entry(p.base, s.ref, s.rel)
		if s.typed {
			e.ContentType, _ = value(attrs, "type")
		}
		switch {
		case e.Kind == fetch.EntryError:
		case name == "area", name == "img" && attrs[s.attr].Key == "src":
			e.Name = alt
		case name == "a" && s.rel == "a" && p.index && sorts(s.ref):
			continue
		}
		if p.nofollow && s.rel == "a" {
			e.Rel = "nofollow"
		}
		if name == "a" && s.rel == "a" && e.Kind != fetch.EntryError {
			p.anchor = &e
			continue
		}
		p.emit(e)
	}
}

// forbidsLinks reports whether the attributes are those of a meta element that asks robots not to
// follow the links of the page, such as <meta name="robots" content="noindex, nofollow">.
func forbidsLinks(attrs []html.Attribute) bool {
	name, _ := value(attrs, "name")
	if !strings.EqualFold(strings.TrimSpace(name), "robots") {
		return false
	}
	content, _ := value(attrs, "content")
	for word := range strings.SplitSeq(strings.ToLower(content), ",") {
		if word = strings.TrimSpace(word); word == "nofollow" || word == "none" {
			return true
		}
	}
	return false
}

// readByUs lists the elements whose content is text for browsers with scripts or frames, and markup
// for others.
var readByUs = map[string]bool{"noscript": true, "noframes": true, "noembed": true}

// readTag returns the name and the attributes of the current tag of t. If an attribute is repeated,
// the first one counts.
func readTag(t *html.Tokenizer) (name string, attrs []html.Attribute) {
	tagName, more := t.TagName()
	name = string(tagName)
	seen := map[string]bool{}
	for more {
		var k, v []byte
		k, v, more = t.TagAttr()
		if key := string(k); !seen[key] {
			seen[key] = true
			attrs = append(attrs, html.Attribute{Key: key, Val: string(v)})
		}
	}
	return name, attrs
}

func value(attrs []html.Attribute, key string) (string, bool) {
	for _, a := range attrs {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

// baseOf returns the base URL after a base element, and whether the page has a valid one.
func baseOf(base uri.URI, has bool, attrs []html.Attribute) (uri.URI, bool) {
	href, _ := value(attrs, "href")
	if u, err := uri.ParseRef(href); err == nil && !has && strings.TrimSpace(href) != "" {
		return base.Resolve(u), true
	}
	return base, has
}
