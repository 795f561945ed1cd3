package links

import (
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// Servers make pages of directories that have no page of their own. Those of Apache httpd, nginx and
// lighttpd call them "Index of" a path, and have behind each link when the file was changed and how
// large it is: in lines of preformatted text or in the cells of a table.

const (
	indexTitle = "Index of "
	maxRow     = 256 // bytes of what stands behind a link
)

// A row is a link in such a page, with the text behind it.
type row struct {
	entry fetch.Entry
	text  string
}

// ends reports whether an element ends what stands behind a link.
func endsRow(name string) bool {
	switch name {
	case "a", "img", "tr", "hr", "table", "address", "h1", "p", "ul", "li", "div":
		return true
	}
	return false
}

// flush emits the row that is open with what is told of it.
func (p *page) flush() {
	if p.row == nil {
		return
	}
	e := p.row.entry
	if at, size, ok := readRow(p.row.text); ok && p.below(e) {
		e.ModTime, e.Size = at, size
	}
	p.row = nil
	p.emit(e)
}

// below reports whether e is a file in the directory that the page is of.
func (p *page) below(e fetch.Entry) bool {
	dir, _, _ := strings.Cut(p.base.WithoutFragment().String(), "?")
	name, ok := strings.CutPrefix(e.URL.String(), dir[:strings.LastIndexByte(dir, '/')+1])
	return ok && name != "" && !strings.ContainsAny(name, "/?#")
}

// The ways in which the servers write times. None tells the zone; most take that of the machine.
var rowTimes = []string{"02-Jan-2006 15:04", "2006-01-02 15:04", "2006-Jan-02 15:04:05", "2006-01-02 15:04:05", "02-Jan-2006 15:04:05"}

// readRow reads the text behind a link: a date, a time and a size, which is -1 if it is rounded.
func readRow(text string) (at time.Time, size int64, ok bool) {
	f := strings.Fields(text)
	if len(f) < 3 {
		return time.Time{}, -1, false
	}
	for _, layout := range rowTimes {
		at, err := time.Parse(layout, f[0]+" "+f[1])
		if err != nil || !driver.PlausibleTime(at) {
			continue
		}
		if n, err := strconv.ParseInt(f[2], 10, 64); err == nil && n >= 0 {
			return at, n, true
		}
		return at, -1, true
	}
	return time.Time{}, -1, false
}

// sorts reports whether a reference leads to the same directory in another order.
func sorts(ref string) bool {
	query, ok := strings.CutPrefix(ref, "?C=")
	return ok && len(query) == 5 && (query[1:4] == ";O=" || query[1:4] == "&O=") &&
		strings.IndexByte("NMSD", query[0]) >= 0 && strings.IndexByte("AD", query[4]) >= 0
}
