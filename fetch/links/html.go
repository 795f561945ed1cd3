package links

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxName bounds the text of a link, in bytes.
const maxName = 256

// maxFrames limits how deep frames with srcdoc are nested.
const maxFrames = 4

// frameType is the content type of a document in srcdoc.
const frameType = "text/html; charset=utf-8"

// readers are the buffers of pages. Many are read in a crawl, and most are short.
var readers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// readHTML yields the links of a page in the order in which they end. The content type may name the
// encoding.
func readHTML(r io.Reader, contentType string, base uri.URI, a *Anchors) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		buffered := readers.Get().(*bufio.Reader)
		buffered.Reset(r)
		defer func() {
			buffered.Reset(nil)
			readers.Put(buffered)
		}()
		p := &page{markup: newMarkup(buffered, contentType), base: base, anchors: a, yield: yield}
		if a != nil {
			*a = Anchors{IsPage: true}
		}
		p.read()
	}
}

type page struct {
	*markup
	base     uri.URI
	hasBase  bool        // only the first base element counts
	nofollow bool        // a meta element asks robots not to follow links
	styles   bool        // the next text is a style sheet
	titles   bool        // the next text is the title
	scripts  string      // the next text is a script of this type; or ""
	index    bool        // the page is the index of a directory
	spans    []span      // of the current tag; its memory is used again
	open     bool        // an anchor is open
	anchor   fetch.Entry // the open anchor
	row      *row        // the last link of an index
	frames   int         // frames with srcdoc around the page
	anchors  *Anchors    // or nil
	yield    func(fetch.Entry, error) bool
	stopped  bool // yield returned false
}

func (p *page) read() {
	for !p.stopped {
		p.skipsPlain = p.row == nil
		switch p.next() {
		case html.ErrorToken:
			p.end()
			return
		case html.TextToken:
			if p.readsText() {
				p.text(p.markup.text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			if p.plain {
				p.styles, p.titles, p.scripts = false, false, ""
			} else {
				p.tag()
			}
		case html.EndTagToken:
			p.styles, p.titles, p.scripts = false, false, ""
			if isAnchorEnd(p.tokens.Raw()) {
				p.closeAnchor()
			}
		}
	}
}

func (p *page) emit(e fetch.Entry) {
	p.stopped = p.stopped || !p.yield(e, nil)
}

func (p *page) end() {
	p.closeAnchor()
	p.flush()
	if err := p.failure(p.base); err != nil && !p.stopped {
		p.yield(fetch.Entry{}, err)
	}
}

func (p *page) readsText() bool {
	return p.styles || p.titles || p.scripts != "" || p.row != nil || p.open
}

// text adds text to the open anchor or row, or reads it as a style sheet or title.
func (p *page) text(text []byte) {
	if p.styles {
		for _, s := range cssSpans(text) {
			p.emit(entry(p.base, s.ref, s.rel))
		}
		return
	}
	if p.scripts != "" {
		for ref := range scriptImports(p.scripts, text) {
			if e := entry(p.base, ref, "import"); isImport(ref) && e.Kind != fetch.EntryError {
				p.emit(e)
			}
		}
		return
	}
	if p.titles && strings.HasPrefix(strings.TrimSpace(string(text)), indexTitle) {
		p.index = true
	}
	if p.row != nil && !p.open && len(p.row.text) < maxRow {
		p.row.text += " " + string(text[:min(len(text), maxRow)])
	}
	if !p.open || len(p.anchor.Name) >= maxName {
		return
	}
	words := string(bytes.TrimSpace(text))
	if strings.Contains(words, "  ") || strings.ContainsFunc(words, isOtherSpace) {
		words = strings.Join(strings.Fields(words), " ")
	}
	if words != "" && p.anchor.Name != "" {
		words = " " + words
	}
	p.anchor.Name += words[:min(len(words), maxName)]
}

func isOtherSpace(r rune) bool { return r != ' ' && unicode.IsSpace(r) }

func (p *page) closeAnchor() {
	if p.open {
		p.anchor.Name = strings.ToValidUTF8(p.anchor.Name, "\uFFFD")
		if p.index {
			p.row = &row{entry: p.anchor}
		} else {
			p.emit(p.anchor)
		}
		p.open, p.anchor = false, fetch.Entry{}
	}
}

func isAnchorEnd(raw []byte) bool {
	return len(raw) > 3 && raw[2]|0x20 == 'a' && strings.IndexByte(" \t\r\n\f/>", raw[3]) >= 0
}

func (p *page) tag() {
	name, attrs := p.name, p.attrs
	p.styles, p.titles = name == "style" && !p.complete, name == "title" && !p.complete
	p.scripts = ""
	if p.anchors != nil && p.templates == 0 {
		p.anchors.add(name, attrs)
	}
	if name == "script" && !p.complete {
		p.scripts, _ = value(attrs, "type")
	}
	if name == "base" {
		if p.templates > 0 || p.tree.isForeign() {
			return
		}
		p.base, p.hasBase = baseOf(p.base, p.hasBase, attrs)
		return
	}
	p.nofollow = p.nofollow || name == "meta" && forbidsLinks(attrs)
	if name == "a" {
		p.closeAnchor()
	}
	if endsRow(name) {
		p.flush()
	}
	if document, ok := value(attrs, "srcdoc"); ok && name == "iframe" {
		p.frame(document)
	}
	alt, _ := value(attrs, "alt")
	p.spans = spansOf(p.spans[:0], name, attrs)
	for _, s := range p.spans {
		e := p.query.entry(p.base, s.ref, s.rel)
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
			p.open, p.anchor = true, e
			continue
		}
		p.emit(e)
	}
}

// frame yields the links of the document in the srcdoc of a frame. Its base is that of the page.
func (p *page) frame(document string) {
	if p.frames == maxFrames {
		return
	}
	inner := &page{markup: newMarkup(bufio.NewReader(strings.NewReader(document)), frameType), base: p.base,
		nofollow: p.nofollow, frames: p.frames + 1, yield: p.yield}
	inner.read()
	p.stopped = inner.stopped
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

// fewAttributes is the number of attributes up to which a search takes less time than a map.
const fewAttributes = 16

// readTag returns the name and the attributes of the current tag of t. It appends the attributes to
// buf. If an attribute is repeated, the first one counts.
func readTag(t *html.Tokenizer, buf []html.Attribute) (name string, attrs []html.Attribute) {
	tagName, more := t.TagName()
	name, attrs = atom.String(tagName), buf
	var seen map[string]bool
	for more {
		var k, v []byte
		k, v, more = t.TagAttr()
		key := atom.String(k)
		if len(attrs) < fewAttributes {
			if _, repeated := value(attrs, key); repeated {
				continue
			}
		} else {
			if seen == nil {
				seen = map[string]bool{}
				for _, a := range attrs {
					seen[a.Key] = true
				}
			}
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		attrs = append(attrs, html.Attribute{Key: key, Val: string(v)})
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
	if u, err := parseRef(href); err == nil && !has && strings.TrimSpace(href) != "" {
		return base.Resolve(u), true
	}
	return base, has
}
