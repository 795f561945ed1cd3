package gopher

import (
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	// maxItem is the maximum length of an item, in bytes. A longer one is an entry of kind
	// EntryError. Menus fit screens of 80 columns, but search items may have long selectors.
	maxItem = 16 << 10
	// maxLine limits the lines of menus and of Gopher+, in bytes. A longer line is not part of a
	// menu.
	maxLine = 64 << 10
)

// An Item is a line of a menu, in Entry.Sys. Its strings are not decoded and may have any charset;
// the title is in Entry.Name.
type Item struct {
	Type     string   `fact:"type"` // one character, or "" for a line without an item
	Selector string   `fact:"selector"`
	Host     string   `fact:"host"`
	Port     uint16   `fact:"port"`            // 0 if missing or invalid
	Extras   []string `fact:"extras,optional"` // the fields after the port; Gopher+ puts "+" or "?" first
	// Attributes are the item's Gopher+ attributes, if they were requested.
	Attributes []Attribute `fact:"attributes,optional"`
}

// typeWords has the words for item types whose kind or media type does not tell what they are.
var typeWords = map[string]string{
	"I": "image", ":": "image", "s": "sound", "<": "sound", ";": "movie", "d": "document",
	"P": "document", "h": "page", "4": "binhex", "5": "archive", "6": "uuencode", "9": "binary",
}

// EntryFacts implements [fetch.EntryRecord].
func (i Item) EntryFacts() fetch.Facts { return driver.FactsOf("gopher", typeWords[i.Type], i) }

type menu struct {
	base uri.Gopher // URL of the menu
	last byte       // type of the previous item, which '+' items repeat

	server server // of the previous item
	prefix string // common prefix of URLs on server
}

func newMenu(base uri.Gopher) *menu { return &menu{base: base, last: '1'} }

func (m *menu) entries(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		read, items := 0, 0
		for line, err := range lines(r) {
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			var e fetch.Entry
			if len(line) > maxItem {
				name := wire.Text(string(line[:200])) + "..."
				e = fetch.Entry{Name: name, Kind: fetch.EntryError, Size: -1}
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
			yield(fetch.Entry{}, fetch.ErrProtocol.Errorf(
				"the response is not a menu: none of its lines is an item"))
		}
	}
}

func lines(r io.Reader) iter.Seq2[[]byte, error] { return wire.NewReader(r, maxLine).All() }

// entry returns the entry for a line of a menu. It is text if the line is not a link.
func (m *menu) entry(line string) fetch.Entry {
	title, item := parseItem(line)
	e := fetch.Entry{Name: wire.Text(title), Kind: fetch.EntryText, Rel: "item", Size: -1}
	if item.Type != "" {
		typ := item.Type[0]
		if typ == '+' {
			typ = m.last // a mirror of the previous item (RFC 1436, section 3.8)
		} else {
			m.last = typ
		}
		e.Kind, e.ContentType = itemTypes[typ].kind, itemTypes[typ].media
		if e.Kind != fetch.EntryText && e.Kind != fetch.EntryError {
			u, err := m.link(typ, item)
			if err != nil || isBadPort(line) && urlSelector(item.Selector).IsZero() {
				e.Kind, u = fetch.EntryError, uri.URI{} // not a valid link
			}
			e.URL = u
		}
	}
	switch {
	case e.URL.IsZero():
		e.ContentType, e.Rel = "", ""
	case e.Kind == fetch.EntryListing && strings.TrimSpace(title) == "..":
		e.Rel = "parent"
	}
	e.Sys = item
	return e
}

// parseItem splits a line. A line without a tab is not an item, unless its type is text or error.
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

// isBadPort reports whether a line of a menu has an invalid port. Its item is not on the default
// port either.
func isBadPort(line string) bool {
	f := strings.SplitN(line, "\t", 5)
	return len(f) > 3 && strings.Trim(f[3], " 0") != "" && parsePort(f[3]) == 0
}

// parsePort returns 0 for a port that is missing or invalid.
func parsePort(s string) uint16 {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}
