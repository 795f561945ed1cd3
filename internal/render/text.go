package render

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
)

// TextOptions configure Text. The zero value is the default.
type TextOptions struct {
	Targets  bool           // add the URL that each entry leads to
	Location *time.Location // of dates; nil means the local one
	Human    bool           // sizes as "1.5K"
	// Long adds details of the protocol: modes and link targets, article numbers and authors.
	Long bool
	// Sort sorts the members of directories by name. Listings with an order of their own, such as
	// menus and search results, are not sorted. Only the start of a very long listing is sorted.
	Sort bool
	// Width is the number of columns of the terminal, or 0 for any. If the columns of a table leave no
	// room for names, each name is on a line of its own, before its row.
	Width int
}

// minName is the number of columns for names beside a table.
const minName = 20

// maxLayoutRows is the number of entries that determine the columns.
const maxLayoutRows = 64

// Text writes entries as aligned lines, with control characters escaped. A listing with sizes or
// dates becomes a table of type, size, date and name. Other listings become a menu: the number of the
// link, its type and its title, with text without links in between.
//
// The columns are as wide as the first entries need, so that listings of any length pass through.
// Text returns the error of the entries, or that of w. Each line is one call of w.Write.
func Text(w io.Writer, entries iter.Seq2[fetch.Entry, error], opts *TextOptions) error {
	l := layout{w: w}
	if opts != nil {
		l.TextOptions = *opts
	}
	if l.Location == nil {
		l.Location = time.Local
	}
	if l.Sort {
		entries = sortMembers(entries)
	}
	var first []fetch.Entry
	for e, err := range entries {
		switch {
		case err != nil:
			return errors.Join(l.start(first), err)
		case l.started:
			err = l.print(e)
		case len(first) < maxLayoutRows:
			first = append(first, e)
		default:
			err = errors.Join(l.start(first), l.print(e))
		}
		if err != nil {
			return err
		}
	}
	return l.start(first)
}

type layout struct {
	TextOptions
	w       io.Writer
	started bool
	table   bool
	types   int // widths of columns
	sizes   int
	modes   int
	authors int
	numbers int
	links   int // printed so far
}

const (
	dateForm  = "2006-01-02 15:04"
	unknown   = "-"
	minNumber = 2
)

// start chooses the format and column widths and prints the first entries. Later calls do nothing.
func (l *layout) start(first []fetch.Entry) error {
	if l.started {
		return nil
	}
	l.started = true
	for _, e := range first {
		l.table = l.table || e.Size >= 0 && e.Kind != fetch.EntryText || !e.ModTime.IsZero()
	}
	links := 0
	for _, e := range first {
		if !e.URL.IsZero() {
			links++
			l.types = max(l.types, len(l.typeOf(e)))
		}
		l.sizes = max(l.sizes, len(l.size(e)))
		if l.Long {
			d := detailsOf(e)
			l.modes, l.authors = max(l.modes, len(d.Mode)), max(l.authors, utf8.RuneCountInString(d.author()))
			l.numbers = max(l.numbers, len(strconv.FormatUint(d.Number, 10)))
		}
	}
	l.numbers = max(l.numbers, minNumber, len(strconv.Itoa(links)))
	for _, e := range first {
		if err := l.print(e); err != nil {
			return err
		}
	}
	return nil
}

func (l *layout) print(e fetch.Entry) error {
	var b strings.Builder
	var more details
	if l.Long {
		more = detailsOf(e)
	}
	leads := !e.URL.IsZero()
	switch {
	case l.table && (leads || e.Kind == fetch.EntryObject):
		date := unknown
		if !e.ModTime.IsZero() {
			date = e.ModTime.In(l.Location).Format(dateForm)
		}
		fmt.Fprintf(&b, "%-*s  ", l.types, l.typeOf(e))
		if l.modes > 0 {
			fmt.Fprintf(&b, "%-*s  ", l.modes, fetch.Printable(more.Mode))
		}
		if more.Number > 0 {
			fmt.Fprintf(&b, "%*d  %-*s  ", l.numbers, more.Number, l.authors, more.author())
		}
		fmt.Fprintf(&b, "%*s  %-*s  ", l.sizes, l.size(e), len(dateForm), date)
	case l.table:
	case leads:
		l.links++
		fmt.Fprintf(&b, "%*d  %-*s  ", l.numbers, l.links, l.types, l.typeOf(e))
	case l.types > 0:
		b.WriteString(strings.Repeat(" ", l.numbers+2+l.types+2))
	}
	below := ""
	if row := b.String(); l.table && l.Width > 0 && utf8.RuneCountInString(row) > max(l.Width-minName, 0) {
		below = "\n  " + strings.TrimRight(row, " ")
		b.Reset()
	}
	if e.Kind == fetch.EntryError {
		b.WriteString("error: ")
	}
	b.WriteString(fetch.Printable(nameOf(e)))
	if more.Target != "" {
		b.WriteString(" -> " + fetch.Printable(more.Target))
	}
	if leads && l.Targets {
		b.WriteString("  " + fetch.Printable(e.URL.Redacted()))
	}
	_, err := io.WriteString(l.w, strings.TrimRight(b.String(), " ")+below+"\n")
	return err
}

// nameOf returns the name of e or, if it has none, such as an image link, the last part of its URL.
func nameOf(e fetch.Entry) string {
	if strings.TrimSpace(e.Name) != "" || e.URL.IsZero() {
		return e.Name
	}
	path := strings.TrimSuffix(e.URL.Path(), "/")
	name, err := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
	if err != nil || name == "" {
		return e.URL.Redacted()
	}
	return name
}

func (l *layout) typeOf(e fetch.Entry) string {
	if word := e.Facts().Word; word != "" {
		return word
	}
	switch e.Kind {
	case fetch.EntryListing:
		if l.table {
			return "dir"
		}
		return "menu"
	case fetch.EntryObject:
		switch major, _, _ := strings.Cut(e.ContentType, "/"); {
		case l.table:
		case major == "text", major == "image", major == "audio", major == "video":
			return major
		}
		return "file"
	}
	return e.Kind.String()
}

func (l *layout) size(e fetch.Entry) string {
	switch {
	case e.Size < 0:
		return unknown
	case !l.Human || e.Size < 1024:
		return strconv.FormatInt(e.Size, 10)
	}
	n, unit := float64(e.Size), -1
	for n >= 1024 && unit < len(humanUnits)-1 {
		n, unit = n/1024, unit+1
	}
	digits := 1
	if n >= 10 {
		digits = 0
	}
	return strconv.FormatFloat(n, 'f', digits, 64) + humanUnits[unit:unit+1]
}

const humanUnits = "KMGTPE"
