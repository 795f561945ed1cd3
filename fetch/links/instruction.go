package links

import (
	"bytes"
	"slices"

	"github.com/urlget/urlget/fetch"
)

// instruction returns the attributes of an xml-stylesheet instruction with the given data, and the index
// of its reference, or -1 (Associating Style Sheets with XML documents 1.0, section 3).
func instruction(data []byte) (attrs []attribute, href int) {
	m := takeMarkup(bytes.NewReader(slices.Concat([]byte("<x "), data, []byte(">"))))
	defer m.release()
	m.allKeys = true
	if m.next() != startToken {
		return nil, -1
	}
	attrs = slices.Clone(m.attrs)
	return attrs, slices.IndexFunc(attrs, func(a attribute) bool {
		return a.key == "href" && a.val != "" && a.val[0] != '#'
	})
}

// instruction returns that of the current token.
func (m *markup) instruction() (attrs []attribute, href int) {
	data, ok := bytes.CutPrefix(m.raw(), []byte("<?xml-stylesheet"))
	if !m.xml || !ok || len(data) == 0 || charKinds[data[0]]&blank == 0 {
		return nil, -1
	}
	return instruction(bytes.TrimSuffix(m.convert(data, m.encoding.appliesTo(data)), []byte("?>")))
}

// rewriteInstruction returns the current token with a converted reference to a style sheet.
func (c *copied) rewriteInstruction() []byte {
	attrs, i := c.instruction()
	if i < 0 {
		return c.raw()
	}
	ref, ok := c.convert(c.query.entry(c.base, attrs[i].val, "stylesheet"))
	if !ok {
		return c.raw()
	}
	attrs[i].val = ref
	tag := bytes.TrimSuffix(writeTag("?xml-stylesheet", attrs, false), []byte(">"))
	return c.encoding.encode(append(tag, "?>"...))
}

// styleSheet emits the reference of the current token, if that is an instruction with one.
func (p *page) styleSheet() {
	if attrs, i := p.instruction(); i >= 0 {
		e := entry(p.base, p.encoding.reference(attrs[i].val), "stylesheet")
		if e.Kind != fetch.EntryError {
			e.ContentType, _ = value(attrs, "type")
		}
		p.emit(e)
	}
}
