package gopher

import (
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

type request struct {
	line string // without CR LF
	data block
}

// A block is the data of a form, including line endings.
type block struct {
	text  string // "" if there is no form
	shown string // for display, with secrets masked
}

func formData(g uri.Gopher) block {
	// The flag of the request line comes first.
	_, text, _ := strings.Cut(g.RawForm(), "\r\n")
	return block{text, text}
}

// newRequest returns the request for g. Plain Gopher sends the selector and, after a tab, the
// search words. Gopher+ adds a tab and the Gopher+ string. Empty words before it are sent only for
// a search item, where servers always expect them. A form adds the flag for following data.
func newRequest(g uri.Gopher, data block) (request, error) {
	if strings.Contains(g.Plus, "\t") {
		return request{}, fetch.ErrURL.Errorf("a tab in the Gopher+ string")
	}
	line := g.Selector
	if g.Search != "" || g.Type == '7' && g.Plus != "" {
		line += "\t" + g.Search
	}
	if g.Plus != "" {
		line += "\t" + plusString(g.Plus)
	}
	if data.text != "" {
		line += "\t1"
	}
	return request{line, data}, wire.CheckLine(line)
}

// plusString converts a Gopher+ string of a URL to that of a request. In a URL, spaces separate the
// names of attributes (RFC 1738, section 3.4.7). In a request, there is no separator.
func plusString(s string) string {
	if s[0] == '!' || s[0] == '$' {
		return strings.ReplaceAll(s, " ", "")
	}
	return s
}

func (r request) shown() []string {
	if r.data.shown == "" {
		return []string{r.line}
	}
	return append([]string{r.line}, strings.Split(strings.TrimSuffix(r.data.shown, "\r\n"), "\r\n")...)
}
