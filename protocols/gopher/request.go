package gopher

import (
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// A request is what is sent to a server.
type request struct {
	line string // without its end
	data block
}

// A block is the data of a form, with all line ends.
type block struct {
	text  string // "" if there is no form
	shown string // the same for people, with secrets masked
}

// formData returns the form that a URL has filled in.
func formData(g uri.Gopher) block {
	// The flag of the request line comes first.
	_, text, _ := strings.Cut(g.RawForm(), "\r\n")
	return block{text, text}
}

// newRequest returns the request for g. Plain Gopher sends the selector and, after a tab, the
// search words. Gopher+ adds a tab and its own string; empty words before it are sent only for a
// search item, where servers expect them in any case. A form adds the flag that data follow.
func newRequest(g uri.Gopher, data block) (request, error) {
	if strings.Contains(g.Plus, "\t") {
		return request{}, &driver.Error{Code: driver.ErrURL, Err: errors.New("a tab in the Gopher+ string")}
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

// plusString returns a Gopher+ string as servers understand it. In a URL spaces divide the names of
// attributes (RFC 1738, section 3.4.7), in a request nothing does.
func plusString(s string) string {
	if s[0] == '!' || s[0] == '$' {
		return strings.ReplaceAll(s, " ", "")
	}
	return s
}

// shown returns the lines of the request for people.
func (r request) shown() []string {
	if r.data.shown == "" {
		return []string{r.line}
	}
	return append([]string{r.line}, strings.Split(strings.TrimSuffix(r.data.shown, "\r\n"), "\r\n")...)
}
