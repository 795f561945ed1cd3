package links

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/encoding"

	"github.com/urlget/urlget/fetch/uri"
)

// A markup reads the tokens of an HTML or XHTML page in UTF-8. Links, copies, frames, titles and texts
// of pages are all read by it. It knows what a tokenizer alone does not: the names title, style, script
// and others stand for text only in the namespace of HTML, and a self-closing tag is complete in
// XHTML, SVG and MathML.
type markup struct {
	skipsPlain bool // plain tags outside of SVG and MathML are not read
	keepsRaw   bool // raw is needed

	raw      []byte           // the token in the encoding of the page
	name     string           // of the current tag, in lower case
	attrs    []html.Attribute // of the current start tag
	query    pageEncoding     // of the current start tag, for its references
	complete bool             // the current start tag is an element without content
	plain    bool             // the current tag is plain and was not read

	tokens      *html.Tokenizer
	encoding    pageEncoding
	whole       encoding.Encoding // the encoding from which the stream is converted, or nil
	undecodable string            // the charset, if it cannot be decoded
	tentative   bool              // a later meta element changes the encoding
	xml         bool
	templates   int  // open template elements, at least 0
	isRaw       bool // the next text is neither markup nor has it character references
	tree        namespaces
}

// maxToken bounds one tag, text or script, in bytes.
const maxToken = 16 << 20

func newMarkup(in *bufio.Reader, contentType string) *markup {
	mediaType, _, _ := strings.Cut(contentType, ";")
	m := &markup{xml: strings.HasSuffix(strings.ToLower(strings.TrimSpace(mediaType)), "xml")}
	m.tokens = html.NewTokenizer(m.detect(in, labelOf(contentType)))
	m.tokens.SetMaxBuf(maxToken)
	return m
}

// next reads the next token. For a start tag it sets the fields of the current tag.
func (m *markup) next() html.TokenType {
	m.tokens.AllowCDATA(m.xml || m.tree.isForeign())
	kind := m.tokens.Next()
	raw := m.tokens.Raw()
	if m.keepsRaw {
		m.raw = append(m.raw[:0], raw...)
	}
	if kind == html.TextToken || kind == html.CommentToken {
		return kind
	}
	m.name, m.isRaw, m.plain, m.complete = "", false, false, false
	switch kind {
	case html.StartTagToken, html.SelfClosingTagToken:
		if m.skipsPlain && m.tree.foreign == 0 && len(raw) >= 3 {
			var e element
			if e, m.plain = plainTags()[string(raw[1:len(raw)-1])]; m.plain {
				m.tree.startHTML(e.name, e.class)
				return kind
			}
		}
		m.name, m.attrs, m.query = m.encoding.readTag(m.tokens, raw, m.attrs[:0])
		m.start(kind == html.SelfClosingTagToken)
	case html.EndTagToken:
		if name := raw[2 : len(raw)-1]; m.tree.innermost() == string(name) {
			m.name = m.tree.innermost() // the usual case, without memory for the name
		} else {
			name, _ = m.tokens.TagName()
			m.name = atom.String(name)
		}
		if m.name == "template" {
			m.templates = max(m.templates-1, 0)
		}
		m.tree.end(m.name)
	}
	return kind
}

// start handles a start tag: how the content of the element is read.
func (m *markup) start(selfClosing bool) {
	switch {
	case m.xml, m.tree.start(m.name, m.attrs, selfClosing):
		m.complete = selfClosing
		m.tokens.NextIsNotRawText()
	case isReadByUs(m.name):
		m.tokens.NextIsNotRawText()
	default:
		m.isRaw = isRawText(m.name)
	}
	if m.name == "template" && !m.complete {
		m.templates++
	}
	if m.tentative && m.name == "meta" {
		if enc, ok := declaredBy(m.attrs); ok {
			m.encoding, m.tentative = enc, false
		}
	}
}

// isReadByUs reports whether the content of an element is text for browsers with scripts or frames, and
// markup for others.
func isReadByUs(name string) bool {
	switch name {
	case "noscript", "noframes", "noembed":
		return true
	}
	return false
}

// isRawText reports whether the content of another element of HTML has neither tags nor references.
func isRawText(name string) bool {
	switch name {
	case "script", "style", "iframe", "xmp", "plaintext":
		return true
	}
	return false
}

func (m *markup) text() []byte {
	text, converted := m.encoding.decode(m.tokens.Raw())
	switch {
	case !converted:
		return m.tokens.Text()
	case m.isRaw:
		return text
	}
	if inner, ok := bytes.CutPrefix(text, []byte(cdata)); ok {
		return bytes.TrimSuffix(inner, []byte(cdataEnd))
	}
	return []byte(html.UnescapeString(string(text)))
}

const cdata, cdataEnd = "<![CDATA[", "]]>"

// failure returns the error that ended the tokens of the page at base, or nil at its end.
func (m *markup) failure(base uri.URI) error {
	err := m.tokens.Err()
	switch {
	case err == io.EOF:
		return nil
	case errors.Is(err, html.ErrBufferExceeded):
		return tooLong("a piece of HTML", maxToken, base)
	}
	return err
}

// plainTags are frequent elements that have neither links nor an effect on the rest of the page
// without attributes.
var plainTags = sync.OnceValue(func() map[string]element {
	m := make(map[string]element)
	for name := range strings.FieldsSeq(
		"li p ul ol div span td th tr br b i em strong code pre h1 h2 h3 dt dd") {
		m[name] = element{name: name, class: classes()[name]}
	}
	return m
})
