package links

import (
	"bytes"
	"cmp"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// Title returns the title of an HTML page, or "" if its head has none.
func Title(r io.Reader, contentType string) string {
	m := newMarkup(r, contentType)
	defer m.release()
	for inTitle := false; m.undecodable == ""; {
		m.skipsTexts = !inTitle
		switch m.next() {
		case endToken:
			return ""
		case textToken:
			if inTitle {
				return string(m.text())
			}
		case startToken:
			if m.name == "body" || inTitle {
				return ""
			}
			inTitle = m.name == "title" && !m.complete && !m.tree.isForeign()
		case endTagToken:
			if inTitle {
				return ""
			}
		}
	}
	return ""
}

// beginsLine reports whether an element begins a line of text.
func beginsLine(name string) bool {
	switch name {
	case "p", "div", "br", "li", "h1", "h2", "h3", "h4", "h5", "h6", "tr", "pre", "blockquote", "dt", "dd",
		"hr", "table", "title":
		return true
	}
	return false
}

// Text returns the text of an HTML page without markup, scripts and styles. Text that people do not see
// is enclosed in [HiddenBegin] and [HiddenEnd]: that of elements such as template, of elements with the
// attribute hidden, and of those hidden by styles in the page. Styles of other documents and scripts do
// not count. After an error of r, Text returns the text before it.
func Text(r io.Reader, contentType string) (string, error) {
	page, err := io.ReadAll(r)
	m := newMarkup(bytes.NewReader(page), contentType)
	defer m.release()
	m.allKeys = true
	seen := visibility{readStyles(page, contentType)}
	var t pageText
	skipped := false // in a script or a style sheet
	for m.undecodable == "" {
		switch m.next() {
		case endToken:
			t.endMark(false)
			return t.String(), cmp.Or(err, m.failure(uri.URI{}))
		case textToken:
			if !skipped {
				t.write(string(m.text()), m.tree.hidden > 0)
			}
		case startToken:
			skipped = !m.complete && (m.name == "script" || m.name == "style")
			seen.start(m)
			t.endMark(m.tree.hidden > 0)
			if beginsLine(m.name) {
				t.WriteByte('\n')
			} else {
				t.WriteByte(' ')
			}
		case endTagToken:
			skipped = false
			t.endMark(m.tree.hidden > 0)
			t.WriteByte(' ')
		default:
			t.WriteByte(' ')
		}
	}
	return "", err
}

type pageText struct {
	strings.Builder
	marked bool // after HiddenBegin
}

func (t *pageText) write(text string, hidden bool) {
	if !t.marked && hidden && strings.TrimSpace(text) != "" {
		t.WriteString(HiddenBegin)
		t.marked = true
	}
	enclosed.WriteString(t, text)
}

func (t *pageText) endMark(hidden bool) {
	if t.marked && !hidden {
		t.WriteString(HiddenEnd)
		t.marked = false
	}
}
