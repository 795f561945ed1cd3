package uri

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Gopher is the decoded form of a gopher URL (RFC 1738, section 3.4), or of a gophers URL, its form
// over TLS.
type Gopher struct {
	Scheme   string // "gopher" or "gophers"; "" means "gopher"
	Host     string
	Port     uint16 // 0 means 70; ParseGopher fills it in
	Type     byte   // the item type; 0 means '1'
	Selector string // without the type, which it often repeats as its first character

	Search    string // the text after the first tab
	HasSearch bool   // there is a first tab

	// Plus is the Gopher+ string, the text after the second tab: "+" for the default view of an
	// item, "+" and a view, "?" for a form to fill in, "!" or "$" for attributes.
	Plus    string
	HasPlus bool // there is a second tab

	// Form holds the values of a filled-in form (RFC 1738, section 3.4.9), one line each; nil means
	// that there is no form.
	Form []string
}

// The delimiters around the values of a form, after the Gopher+ string.
const (
	formStart = "\t1\r\n+-1\r\n"
	formEnd   = ".\r\n"
)

// ParseGopher decodes a gopher or gophers URL. No character is reserved in the path, so a "?" is
// part of it; only "%09" separates fields. CR, LF and NUL are errors, except for the line endings
// between the values of a form.
func ParseGopher(u URI) (Gopher, error) {
	d := decode(u, "gopher", "gophers")
	d.server()
	d.noLogin()
	g := Gopher{Scheme: u.Scheme(), Host: u.Host(), Port: d.port(), Type: '1'}
	if u.URLPath() == "" {
		return finish(d, g)
	}
	fields := strings.SplitN(u.URLPath(), "%09", 3)
	if item := d.text(fields[0]); item == "" || item[0] <= ' ' || item[0] == 0x7f {
		d.fail("no gopher type")
	} else {
		g.Type, g.Selector = item[0], item[1:]
	}
	if len(fields) > 1 {
		g.Search, g.HasSearch = d.text(fields[1]), true
	}
	if len(fields) > 2 {
		plus, form, ok := strings.Cut(UnescapeRaw(fields[2]), formStart)
		d.check(plus)
		g.Plus, g.HasPlus = plus, true
		if ok {
			g.Form = d.form(form)
		}
	}
	return finish(d, g)
}

// form splits the values of a form, which ends with a line that consists of a dot.
func (d *decoder) form(block string) []string {
	lines := strings.Split(block, "\r\n")
	n := len(lines)
	if n < 2 || lines[n-2] != "." || lines[n-1] != "" {
		d.fail("Gopher+ form without its final dot")
		return nil
	}
	lines = lines[:n-2]
	if slices.Contains(lines, ".") {
		d.fail("Gopher+ form with text after its final dot")
	}
	for _, line := range lines {
		d.check(line)
	}
	return lines
}

// RawForm returns the form as it is sent after the Gopher+ string, with tab, CR and LF, or "" if
// there is none. The request needs no line ending after it.
func (g Gopher) RawForm() string {
	if g.Form == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(formStart)
	for _, line := range g.Form {
		b.WriteString(line + "\r\n")
	}
	b.WriteString(formEnd)
	return b.String()
}

// URI returns g as a URL. It fails if Host is not a host, if Type is a space or control character,
// if Selector or Search contains a tab, or if Plus or a line of Form contains CR, LF or NUL.
func (g Gopher) URI() (URI, error) {
	typ := cmp.Or(g.Type, '1')
	path := "/" + escapeOpaque(string([]byte{typ})+g.Selector)
	hasPlus := g.HasPlus || g.Plus != "" || g.Form != nil
	if g.HasSearch || g.Search != "" || hasPlus {
		path += "%09" + escapeOpaque(g.Search)
	}
	if hasPlus {
		path += "%09" + escapeOpaque(g.Plus+g.RawForm())
	}
	return Parts{Scheme: cmp.Or(g.Scheme, "gopher"), Host: g.Host, Port: g.Port, Path: path}.build(g.check())
}

func (g Gopher) check() error {
	switch {
	case g.Type != 0 && (g.Type <= ' ' || g.Type == 0x7f):
		return errors.New("no gopher type")
	case strings.Contains(g.Selector, "\t"):
		return errors.New("tab in a gopher selector")
	case strings.Contains(g.Search, "\t"):
		return errors.New("tab in a gopher search")
	case hasControl(g.Plus):
		return ErrControl
	}
	for _, line := range g.Form {
		if line == "." {
			return errors.New("line of a Gopher+ form that would end it")
		}
		if hasControl(line) {
			return ErrControl
		}
	}
	return nil
}

// gopherBase returns the item type and selector of a path, with the slash before them.
func gopherBase(path string) string {
	path, _, _ = strings.Cut(path, "%09")
	if path == "" || path == "/" {
		return "/1"
	}
	return path
}
