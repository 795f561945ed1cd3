package links

import (
	"bufio"
	"io"
	"strings"

	"golang.org/x/net/html"

	"github.com/urlget/urlget/fetch/uri"
)

// Title returns the title of an HTML page, or "" if its head has none.
func Title(r io.Reader, contentType string) string {
	m := newMarkup(bufio.NewReader(r), contentType)
	for inTitle := false; m.undecodable == ""; {
		switch m.next() {
		case html.ErrorToken:
			return ""
		case html.TextToken:
			if inTitle {
				return string(m.text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			if m.name == "body" || inTitle {
				return ""
			}
			inTitle = m.name == "title" && !m.complete && !m.tree.isForeign()
		case html.EndTagToken:
			if inTitle {
				return ""
			}
		}
	}
	return ""
}

// beginsLine lists the elements that begin a line of text.
var beginsLine = set("p div br li h1 h2 h3 h4 h5 h6 tr pre blockquote dt dd hr table title")

// Text returns the text of an HTML page without markup, scripts and styles. After an error of r, it
// returns the text before it.
func Text(r io.Reader, contentType string) (string, error) {
	m := newMarkup(bufio.NewReader(r), contentType)
	var b strings.Builder
	hidden := false // in a script or a style sheet
	for m.undecodable == "" {
		switch m.next() {
		case html.ErrorToken:
			return b.String(), m.failure(uri.URI{})
		case html.TextToken:
			if !hidden {
				b.Write(m.text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			hidden = !m.complete && (m.name == "script" || m.name == "style")
			if beginsLine[m.name] {
				b.WriteByte('\n')
			} else {
				b.WriteByte(' ')
			}
		default:
			hidden = false
			b.WriteByte(' ')
		}
	}
	return "", nil
}
