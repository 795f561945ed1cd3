package links

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/transform"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// RewriteHTML copies an HTML page from r to w and replaces each reference for which convert returns
// true. The entries are those of [Read], without names. Tags without such references are copied
// unchanged, except those that would keep browsers from showing a copy on a disk: the href of a base
// element is removed, because convert chooses the base of the new references, the actions of forms become
// absolute URLs, and a Content-Security-Policy also allows files. The encoding of the copy is that of the
// page: the one of contentType, if it names one, otherwise as for [Read]. If only contentType names it, the
// copy declares it.
func RewriteHTML(w io.Writer, r io.Reader, contentType string, base uri.URI,
	convert func(fetch.Entry) (string, bool)) error {
	return (&copied{base: base, convert: convert}).copy(w, r, contentType)
}

// A copied is a page whose references are being replaced.
type copied struct {
	*markup
	base        uri.URI
	hasBase     bool
	convert     func(fetch.Entry) (string, bool)
	declaration string // of the encoding, which precedes the first element after the head tag
	frames      int    // frames with srcdoc around the page
}

func (c *copied) copy(w io.Writer, in io.Reader, contentType string) error {
	m := newMarkup(in, contentType)
	defer m.release()
	c.markup = m
	if start, _ := m.page.Peek(sniffed); c.frames == 0 {
		c.declaration = declaration(start, contentType)
	}
	buffered := bufio.NewWriter(w)
	out := transform.NewWriter(buffered, transform.Nop)
	if m.whole != nil {
		out = transform.NewWriter(buffered, m.whole.NewEncoder())
	}
	c.declare(out)
	styles := false
	for {
		kind := m.next()
		raw := m.raw()
		switch kind {
		case endToken:
			if err := m.failure(c.base); err != nil {
				return err
			}
			_, err := out.Write(raw)
			return errors.Join(err, out.Close(), buffered.Flush())
		case textToken:
			if styles {
				raw = m.rewriteStyle(c.base, c.convert)
			}
		case commentToken:
			raw = c.rewriteInstruction()
		case endTagToken:
			styles = false
		case startToken:
			styles = m.name == "style" && !m.complete
			c.declare(out)
			if c.rewriteElement() {
				name, attrs := m.name, m.attrs
				if m.xml {
					name, attrs = spelled(raw, name, attrs)
				}
				raw = m.query.encode(writeTag(name, attrs, m.selfClosing))
			}
		}
		if _, err := out.Write(raw); err != nil {
			return err
		}
	}
}

// rewriteElement converts the current start tag. It reports whether it changed an attribute.
func (c *copied) rewriteElement() bool {
	m := c.markup
	if len(m.attrs) == 0 {
		return false
	}
	m.readAll()
	switch m.name {
	case "base":
		if m.templates > 0 || m.tree.isForeign() {
			return false
		}
		c.base, c.hasBase = baseOf(c.base, c.hasBase, m.attrs)
		return withoutHref(&m.attrs)
	case "meta":
		if allowFiles(m.attrs) {
			return true
		}
	}
	whole := wholeActions(m.name, m.attrs, c.base, m.query)
	framed := m.name == "iframe" && c.rewriteFrame(m.attrs)
	converted := rewriteTag(m.name, m.attrs, c.base, m.query, c.convert)
	if converted {
		m.attrs = withoutOrigin(m.attrs)
	}
	if converted && m.name == "applet" {
		m.attrs = withoutCodebase(m.attrs)
	}
	return converted || whole || framed
}

// rewriteStyle returns the current text, which is a style sheet, with converted references. Text is
// escaped as the original: not at all in HTML, as a CDATA section or as a text with references in
// XHTML and SVG.
func (m *markup) rewriteStyle(base uri.URI, convert func(fetch.Entry) (string, bool)) []byte {
	raw := m.raw()
	converted := m.encoding.appliesTo(raw)
	text := m.convert(raw, converted)
	before, after := "", ""
	escape := func(css []byte) []byte { return css }
	switch inner, ok := bytes.CutPrefix(text, []byte(cdata)); {
	case m.isRaw:
	case ok:
		before = cdata
		if text, ok = bytes.CutSuffix(inner, []byte(cdataEnd)); ok {
			after = cdataEnd
		}
	default:
		text = m.text()
		escape = func(css []byte) []byte { return []byte(escapeText.Replace(string(css))) }
	}
	css := rewriteCSS(text, base, convert)
	if bytes.Equal(css, text) {
		return raw
	}
	css = append(append([]byte(before), escape(css)...), after...)
	if converted {
		css = m.encoding.encode(css)
	}
	return css
}

// wholeActions makes the action of a form or a button absolute, because a saved page has no server
// of its own. It reports whether it changed an attribute.
func wholeActions(name string, attrs []attribute, base uri.URI, query pageEncoding) (changed bool) {
	for i, a := range attrs {
		sends := name == "form" && a.key == "action" ||
			(name == "button" || name == "input") && a.key == "formaction"
		if !sends || strings.TrimSpace(a.val) == "" {
			continue
		}
		if ref, err := parseRef(a.val); err != nil || ref.IsAbs() {
			continue
		}
		if e := query.entry(base, a.val, "form"); e.Kind != fetch.EntryError && e.URL.IsAbs() {
			attrs[i].val, changed = e.URL.String(), true
		}
	}
	return changed
}

func withoutHref(attrs *[]attribute) bool {
	for i, a := range *attrs {
		if a.key == "href" {
			*attrs = append((*attrs)[:i:i], (*attrs)[i+1:]...)
			return true
		}
	}
	return false
}

// withoutOrigin removes the attributes that keep browsers from loading a copy of a resource: files have no
// origin (HTML, section 2.5.4), and a converted file does not match its digest. A reference to a server
// keeps them.
func withoutOrigin(attrs []attribute) []attribute {
	for _, a := range attrs {
		if a.key != "src" && a.key != "href" {
			continue
		}
		if u, err := parseRef(a.val); err != nil || u.IsAbs() || strings.HasPrefix(a.val, "//") {
			return attrs
		}
	}
	return slices.DeleteFunc(attrs, func(a attribute) bool {
		return a.key == "crossorigin" || a.key == "integrity"
	})
}

func rewriteTag(name string, attrs []attribute, base uri.URI, query pageEncoding,
	convert func(fetch.Entry) (string, bool)) bool {
	spans := spansOf(nil, name, attrs)
	changed := false
	for i := len(spans) - 1; i >= 0; i-- { // from the end, so that offsets stay valid
		s := spans[i]
		text, ok := convert(query.entry(base, s.ref, s.rel))
		if !ok {
			continue
		}
		v := attrs[s.attr].val
		if s.css {
			text = quoteCSS(text, s.quote)
		}
		attrs[s.attr].val = v[:s.start] + text + v[s.end:]
		changed = true
	}
	return changed
}

// spelled returns the names of a start tag as they are written: in XML, case counts.
func spelled(raw []byte, name string, attrs []attribute) (string, []attribute) {
	written := map[string]string{}
	for i := 1; i < len(raw); {
		begin := i
		for i < len(raw) && strings.IndexByte(" \t\r\n\f=/>\"'", raw[i]) < 0 {
			i++
		}
		word := string(raw[begin:i])
		if lower := strings.ToLower(word); written[lower] == "" {
			written[lower] = word
		}
		if i < len(raw) && (raw[i] == '"' || raw[i] == '\'') {
			i += max(bytes.IndexByte(raw[i+1:], raw[i]), 0) + 1
		}
		i++
	}
	attrs = slices.Clone(attrs)
	for i := range attrs {
		attrs[i].key = cmp.Or(written[attrs[i].key], attrs[i].key)
	}
	return cmp.Or(written[name], name), attrs
}

func writeTag(name string, attrs []attribute, closed bool) []byte {
	var b strings.Builder
	b.WriteString("<" + name)
	for _, a := range attrs {
		b.WriteString(" " + a.key + `="` + escapeAttr.Replace(a.val) + `"`)
	}
	if closed {
		b.WriteString(" /")
	}
	b.WriteString(">")
	return []byte(b.String())
}

var escapeText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

var escapeAttr = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;")

// RewriteCSS is [RewriteHTML] for a style sheet. If it is not in UTF-8, the copy is, and begins with a byte
// order mark.
func RewriteCSS(w io.Writer, r io.Reader, contentType string, base uri.URI,
	convert func(fetch.Entry) (string, bool)) error {
	text, converted, err := readCSS(r, contentType, base)
	if err != nil {
		return err
	}
	text = rewriteCSS(text, base, convert)
	if mark := []byte("\ufeff"); converted && !bytes.HasPrefix(text, mark) {
		text = append(mark, text...)
	}
	_, err = w.Write(text)
	return err
}

// rewriteCSS converts the references in a style sheet.
func rewriteCSS(text []byte, base uri.URI, convert func(fetch.Entry) (string, bool)) []byte {
	var out []byte
	from := 0
	for _, s := range cssSpans(text) {
		if ref, ok := convert(entry(base, s.ref, s.rel)); ok {
			out = append(append(out, text[from:s.start]...), quoteCSS(ref, s.quote)...)
			from = s.end
		}
	}
	return append(out, text[from:]...)
}

// quoteCSS escapes a reference for url() or, if quote is not 0, for a string.
func quoteCSS(ref string, quote byte) string {
	var b strings.Builder
	q := string(quote)
	if quote == 0 {
		q = ""
	}
	b.WriteString(q)
	for i := range len(ref) {
		if strings.IndexByte("\"'()\\ \t", ref[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(ref[i])
	}
	b.WriteString(q)
	return b.String()
}
