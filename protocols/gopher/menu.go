package gopher

import (
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	// maxItem is the length of an item, in bytes, beyond which it is shown as an error. Menus are
	// made for screens of 80 columns; search items may have long selectors.
	maxItem = 16 << 10
	// maxLine bounds the lines of menus and of Gopher+, in bytes: anything longer is not a menu.
	maxLine = 64 << 10
)

// An Item is a line of a menu as the server wrote it: what Entry.Sys holds. All strings are as they
// were sent, which may be bytes of any charset; the title is in Entry.Name.
type Item struct {
	Type     string // one character, or "" for a line that is no item
	Selector string
	Host     string
	Port     uint16   // 0 if it is missing or not a port
	Extras   []string // what follows the port; Gopher+ puts "+" or "?" first
	// Attributes are the item's Gopher+ attributes, if they were asked for.
	Attributes []Attribute
}

// EntryFacts implements [driver.EntryRecord].
func (i Item) EntryFacts() driver.Facts {
	return driver.Facts{Driver: "gopher", List: []driver.Fact{
		{Name: "type", Value: i.Type},
		{Name: "selector", Value: i.Selector},
		{Name: "host", Value: i.Host},
		{Name: "port", Value: uint64(i.Port)},
		{Name: "extras", Value: i.Extras, Optional: true},
		{Name: "attributes", Value: i.Attributes, Optional: true},
	}}
}

// A menu turns lines into entries.
type menu struct {
	base uri.Gopher // where the menu is from
	last byte       // the type of the last item that has one

	server server // of the item before
	prefix string // what URLs of items there start with
}

func newMenu(base uri.Gopher) *menu { return &menu{base: base, last: '1'} }

// entries returns the entries of a menu, as they arrive.
func (m *menu) entries(r io.Reader) iter.Seq2[driver.Entry, error] {
	return func(yield func(driver.Entry, error) bool) {
		read, items := 0, 0
		for line, err := range lines(r) {
			if err != nil {
				yield(driver.Entry{}, err)
				return
			}
			var e driver.Entry
			if len(line) > maxItem {
				e = driver.Entry{Name: wire.Text(string(line[:200])) + "...", Kind: driver.EntryError, Size: -1}
			} else {
				e = m.entry(string(line))
			}
			read++
			if item, ok := e.Sys.(Item); !ok || item.Type != "" {
				items++
			}
			if !yield(e, nil) {
				return
			}
		}
		if read > 0 && items == 0 {
			yield(driver.Entry{}, &driver.Error{Code: driver.ErrProtocol, Err: errors.New("what the server sent is not a menu: none of its lines is an item")})
		}
	}
}

// lines iterates over the lines of a menu, or of attributes.
func lines(r io.Reader) iter.Seq2[[]byte, error] { return wire.NewReader(r, maxLine).All() }

// entry returns the entry for a line of a menu, which is text if it makes no link.
func (m *menu) entry(line string) driver.Entry {
	title, item := parseItem(line)
	e := driver.Entry{Name: wire.Text(title), Kind: driver.EntryText, Rel: "item", Size: -1}
	if item.Type != "" {
		typ := item.Type[0]
		if typ == '+' {
			typ = m.last // another server for the item before (RFC 1436, section 3.8)
		} else {
			m.last = typ
		}
		e.Kind, e.ContentType = itemTypes[typ].kind, itemTypes[typ].media
		if e.Kind != driver.EntryText && e.Kind != driver.EntryError {
			u, err := m.link(typ, item)
			if err != nil || isBadPort(line) && urlSelector(item.Selector).IsZero() {
				e.Kind, u = driver.EntryError, uri.URI{} // an item that leads nowhere
			}
			e.URL = u
		}
	}
	switch {
	case e.URL.IsZero():
		e.ContentType, e.Rel = "", ""
	case e.Kind == driver.EntryListing && strings.TrimSpace(title) == "..":
		e.Rel = "parent"
	}
	e.Sys = item
	return e
}

// parseItem splits a line. One without a tab is not an item, unless it says that it is text or an
// error.
func parseItem(line string) (title string, item Item) {
	if line == "" || line[0] <= ' ' || line[0] >= 0x7f {
		return line, item
	}
	title, rest, ok := strings.Cut(line[1:], "\t")
	if !ok && line[0] != 'i' && line[0] != '3' {
		return line, item
	}
	item.Type = line[:1]
	item.Selector, rest, _ = strings.Cut(rest, "\t")
	item.Host, rest, _ = strings.Cut(rest, "\t")
	port, rest, ok := strings.Cut(rest, "\t")
	item.Port = parsePort(port)
	if ok {
		item.Extras = strings.Split(rest, "\t")
	}
	return title, item
}

// isBadPort reports whether a line of a menu names a port that is none: what it leads to is not at
// the port of Gopher either.
func isBadPort(line string) bool {
	f := strings.SplitN(line, "\t", 5)
	return len(f) > 3 && strings.Trim(f[3], " 0") != "" && parsePort(f[3]) == 0
}

// parsePort returns 0 for what is not a port.
func parsePort(s string) uint16 {
	s = strings.TrimSpace(s)
	n := 0
	for i := range len(s) {
		c := s[i]
		if c < '0' || c > '9' {
			return 0
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return 0
		}
	}
	return uint16(n)
}
