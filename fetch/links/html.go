package links

import (
	"bytes"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxName bounds the text of a link, in bytes.
const maxName = 256

// maxFrames limits how deep frames with srcdoc are nested.
const maxFrames = 4

// frameType is the content type of a document in srcdoc.
const frameType = "text/html; charset=utf-8"

// readHTML yields the links of a page in the order in which they end. The content type may name the
// encoding. If dirs is set, the subdirectories in the index of a directory are of kind fetch.EntryListing.
func readHTML(
	r io.Reader, contentType string, base uri.URI, a *Anchors, dirs bool,
) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		p := &page{markup: newMarkup(r, contentType), base: base, anchors: a, dirs: dirs, yield: yield}
		defer p.release()
		p.readsIDs = a != nil
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
	dirs     bool        // subdirectories in an index are listings
	spans    []span      // of the current tag; its memory is used again
	open     bool        // an anchor is open
	anchor   fetch.Entry // the open anchor
	words    []byte      // its text
	row      *row        // the last link of an index
	frames   int         // frames with srcdoc around the page
	anchors  *Anchors    // or nil
	yield    func(fetch.Entry, error) bool
	stopped  bool // yield returned false
}

func (p *page) read() {
	p.memo.setBase(p.base)
	for !p.stopped {
		p.skipsTexts = !p.readsText()
		switch p.next() {
		case endToken:
			p.end()
			return
		case textToken:
			p.text(p.markup.text())
		case commentToken:
			p.styleSheet()
		case startToken:
			p.tag()
		case endTagToken:
			p.styles, p.titles, p.scripts = false, false, ""
			if p.name == "a" {
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
	if p.titles {
		title := bytes.TrimSpace(text)
		p.index = p.index || bytes.HasPrefix(title, []byte(indexTitle)) ||
			bytes.HasPrefix(title, []byte(pythonTitle))
	}
	if p.row != nil && !p.open && len(p.row.text) < maxRow {
		p.row.text += " " + string(text[:min(len(text), maxRow)])
	}
	if p.open && len(p.words) < maxName {
		p.words = appendWords(p.words, text)
	}
}

// appendWords appends the words of text to those in out, at most maxName bytes of them.
func appendWords(out, text []byte) []byte {
	limit := len(out) + maxName
	for word := range bytes.FieldsSeq(text) {
		if len(out) > 0 {
			out = append(out, ' ')
		}
		if out = append(out, word...); len(out) >= limit {
			return out[:limit]
		}
	}
	return out
}

func (p *page) closeAnchor() {
	if p.open {
		p.anchor.Name = strings.ToValidUTF8(p.memo.text(p.words), "\uFFFD")
		if p.index {
			p.row = &row{entry: p.anchor}
		} else {
			p.emit(p.anchor)
		}
		p.open, p.anchor = false, fetch.Entry{}
	}
}

func (p *page) tag() {
	name, attrs := p.name, p.attrs
	p.styles, p.titles = name == "style" && !p.complete, name == "title" && !p.complete
	p.scripts = ""
	if p.anchors != nil && p.templates == 0 {
		p.anchors.add(name, attrs)
	}
	if name == "script" && !p.complete {
		kind, _ := value(attrs, "type")
		p.scripts = importingType(kind)
	}
	if name == "base" {
		if p.templates > 0 || p.tree.isForeign() {
			return
		}
		p.base, p.hasBase = baseOf(p.base, p.hasBase, attrs)
		p.memo.setBase(p.base)
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
		e := p.entry(s, attrs)
		if s.typed {
			e.ContentType, _ = value(attrs, "type")
		}
		switch {
		case e.Kind == fetch.EntryError:
		case name == "area", name == "img" && attrs[s.attr].key == "src":
			e.Name = alt
		case name == "a" && s.rel == "a" && p.index && sorts(s.ref):
			continue
		}
		if p.nofollow && s.rel == "a" {
			e.Rel = "nofollow"
		}
		if name == "a" && s.rel == "a" && e.Kind != fetch.EntryError {
			p.open, p.anchor, p.words = true, e, p.words[:0]
			continue
		}
		p.emit(e)
	}
}

// entry returns the entry of a reference in an attribute.
func (p *page) entry(s span, attrs []attribute) fetch.Entry {
	ref := p.query.reference(s.ref)
	if len(s.ref) < len(attrs[s.attr].val) { // part of a text that would stay in memory
		return entry(p.base, ref, s.rel)
	}
	return p.memo.entry(p.base, ref, s.rel)
}

// frame yields the links of the document in the srcdoc of a frame. Its base is that of the page.
func (p *page) frame(document string) {
	if p.frames == maxFrames {
		return
	}
	inner := &page{markup: newMarkup(strings.NewReader(document), frameType), base: p.base,
		nofollow: p.nofollow, frames: p.frames + 1, yield: p.yield}
	defer inner.release()
	inner.read()
	p.stopped = inner.stopped
}

// forbidsLinks reports whether the attributes are those of a meta element that asks robots not to
// follow the links of the page, such as <meta name="robots" content="noindex, nofollow">.
func forbidsLinks(attrs []attribute) bool {
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

func value(attrs []attribute, key string) (string, bool) {
	for _, a := range attrs {
		if a.key == key {
			return a.val, true
		}
	}
	return "", false
}

// baseOf returns the base URL after a base element, and whether the page has a valid one.
func baseOf(base uri.URI, has bool, attrs []attribute) (uri.URI, bool) {
	href, _ := value(attrs, "href")
	if u, err := parseRef(href); err == nil && !has && strings.TrimSpace(href) != "" {
		return base.Resolve(u), true
	}
	return base, has
}
