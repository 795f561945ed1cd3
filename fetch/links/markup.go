package links

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"golang.org/x/text/encoding"

	"github.com/urlget/urlget/fetch/uri"
)

// A markup reads the tokens of an HTML or XHTML page in UTF-8. Links, copies, frames, titles and texts
// of pages are all read by it. It knows what a scanner alone does not: the names title, style, script
// and others stand for text only in the namespace of HTML, and a self-closing tag is complete in
// XHTML, SVG and MathML.
type markup struct {
	scanner
	readsIDs bool // the identifiers of elements are among the attributes

	name     string       // of the current tag, in lower case
	attrs    []attribute  // of the current start tag, decoded
	query    pageEncoding // of the current start tag, for its references
	complete bool         // the current start tag is an element without content

	encoding    pageEncoding
	whole       encoding.Encoding // the encoding from which the stream is converted, or nil
	undecodable string            // the charset, if it cannot be decoded
	tentative   bool              // a later meta element changes the encoding
	xml         bool
	templates   int  // open template elements, at least 0
	isRaw       bool // the next text is neither markup nor has it character references
	tree        namespaces
	memo        *memo
	decoded     []byte          // memory for a text without references
	unknown     map[string]bool // attributes of the current tag that are not in linkKeys
	page        *bufio.Reader
}

// An attribute has its name in lower case and its value without references.
type attribute struct{ key, val string }

// These are the sizes in bytes of a buffer at first, and when it is not used for other pages.
const (
	smallBuffer = 16 << 10
	largeBuffer = 256 << 10
)

var markups = sync.Pool{New: func() any {
	return &markup{scanner: scanner{buf: make([]byte, 0, smallBuffer)}, memo: &memo{},
		page: bufio.NewReaderSize(nil, sniffed), unknown: make(map[string]bool)}
}}

// newMarkup returns the markup of a page that begins in r. The caller releases it.
func newMarkup(r io.Reader, contentType string) *markup {
	m := takeMarkup(r)
	mediaType, _, _ := strings.Cut(contentType, ";")
	m.xml = strings.HasSuffix(strings.ToLower(strings.TrimSpace(mediaType)), "xml")
	start, _ := m.page.Peek(sniffed) // an error occurs again
	m.detect(start, labelOf(contentType))
	if m.whole != nil {
		m.in = m.whole.NewDecoder().Reader(m.page)
	}
	return m
}

func takeMarkup(r io.Reader) *markup {
	m := markups.Get().(*markup)
	*m = markup{scanner: scanner{in: m.page, buf: m.buf[:0], attrs: m.scanner.attrs[:0], keys: linkKeys()},
		attrs: m.attrs[:0], tree: namespaces{open: m.tree.open[:0]}, memo: m.memo, decoded: m.decoded[:0],
		unknown: m.unknown, page: m.page}
	m.page.Reset(r)
	return m
}

// release lets other pages use the memory of m.
func (m *markup) release() {
	if cap(m.buf) > largeBuffer || cap(m.decoded) > largeBuffer || cap(m.scanner.attrs) > 1<<10 {
		return
	}
	m.in = nil
	m.page.Reset(nil)
	clear(m.attrs[:cap(m.attrs)])
	markups.Put(m)
}

// next reads the next token. For a tag it sets the fields of the current tag.
func (m *markup) next() token {
	m.allowsCDATA = m.xml || m.tree.isForeign()
	kind := m.scanner.next()
	if kind != startToken && kind != endTagToken {
		return kind
	}
	m.isRaw, m.complete = false, false
	if kind == startToken {
		e := m.readName()
		m.name = e.name
		m.readAttributes()
		m.start(e)
		return kind
	}
	if name := m.slice(m.scanner.name); m.tree.innermost() == string(name) {
		m.name = m.tree.innermost() // the usual case
	} else {
		m.name = m.readName().name
	}
	if m.name == "template" {
		m.templates = max(m.templates-1, 0)
	}
	m.tree.end(m.name)
	return kind
}

// readName returns the element of the current tag.
func (m *markup) readName() element {
	name := m.slice(m.scanner.name)
	if e, ok := elements().get(name); ok {
		return e
	}
	m.decoded = appendLower(m.decoded[:0], m.convert(name, m.encoding.appliesTo(m.raw())))
	return element{name: m.memo.text(m.decoded)}
}

// readAttributes sets the attributes of the current start tag. If one is repeated, the first one counts.
func (m *markup) readAttributes() {
	m.attrs = m.attrs[:0]
	foreign := m.encoding.appliesTo(m.raw())
	if m.query = m.encoding; !foreign && !m.query.declared {
		m.query = pageEncoding{}
	}
	clear(m.unknown)
	for _, a := range m.scanner.attrs {
		key := a.known
		if key == "" {
			m.decoded = appendLower(m.decoded[:0], m.convert(m.slice(a.key), foreign))
			if key = m.memo.text(m.decoded); m.unknown[key] {
				continue
			}
			m.unknown[key] = true
		}
		if !m.allKeys && !m.uses(key) {
			continue
		}
		val := m.convert(m.slice(a.val), foreign)
		if !m.allKeys && isStyle(key) && !bytes.ContainsAny(val, "(&") {
			val = nil // has no URL
		}
		if !isPlain(val) {
			m.decoded = appendText(m.decoded[:0], val, attributeValue)
			val = m.decoded
		}
		m.attrs = append(m.attrs, attribute{key: key, val: m.memo.text(val)})
	}
}

// readAll sets all attributes of the current start tag, also those that are of no use to find links.
func (m *markup) readAll() {
	m.allKeys = true
	m.tag(len("<"), startToken)
	m.readAttributes()
	m.allKeys = false
}

func (m *markup) convert(text []byte, foreign bool) []byte {
	if foreign && !isASCII(text) {
		if decoded, err := m.encoding.NewDecoder().Bytes(text); err == nil {
			return decoded
		}
	}
	return text
}

// start handles a start tag: how the content of the element is read.
func (m *markup) start(e element) {
	switch {
	case m.xml, m.tree.start(e, m.attrs, m.selfClosing):
		m.complete = m.selfClosing
	default:
		switch m.name { // noscript, noframes and noembed are markup for programs without scripts and frames
		case "script", "style", "iframe", "xmp", "plaintext":
			m.isRaw, m.rawName = true, m.name
		case "title", "textarea":
			m.rawName = m.name
		}
	}
	if m.name == "template" && !m.complete {
		m.templates++
	}
	if m.tentative && m.name == "meta" {
		if enc, name := declaredBy(m.attrs); enc != nil && name != "replacement" {
			m.encoding, m.tentative = encodingNamed(enc, name), false
		}
	}
}

// text returns the current text. It is valid until the next token is read.
func (m *markup) text() []byte {
	text, kind := m.raw(), plainText
	switch {
	case m.isCDATA:
		text, kind = bytes.TrimSuffix(text[len(cdata):], []byte(cdataEnd)), rawData
	case m.rawText && m.isRaw:
		kind = rawData
	case m.rawText:
		kind = rcdata
	}
	text = m.convert(text, m.encoding.appliesTo(text))
	if isPlain(text) {
		return text
	}
	m.decoded = appendText(m.decoded[:0], text, kind)
	return m.decoded
}

const cdata, cdataEnd = "<![CDATA[", "]]>"

// failure returns the error that ended the tokens of the page at base, or nil at its end.
func (m *markup) failure(base uri.URI) error {
	switch {
	case m.err == io.EOF:
		return nil
	case errors.Is(m.err, errTokenTooLong):
		return tooLong("a piece of HTML", maxToken, base)
	}
	return m.err
}
