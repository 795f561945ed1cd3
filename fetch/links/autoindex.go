package links

import (
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
)

// Servers generate index pages for directories without a page of their own. Those of Apache httpd,
// nginx and lighttpd have the title "Index of" and a path. After each link they show the
// modification time and the size of the file, as preformatted text or in the cells of a table. The server of
// Python shows only links.

const (
	indexTitle  = "Index of "
	pythonTitle = "Directory listing for " // of http.server
	maxRow      = 256                      // bytes of text after a link
)

type row struct {
	entry fetch.Entry
	text  string
}

// endsRow reports whether an element ends the text after a link.
func endsRow(name string) bool {
	switch name {
	case "a", "img", "tr", "hr", "table", "address", "h1", "p", "ul", "li", "div":
		return true
	}
	return false
}

// flush emits the open row, with the time and the size from its text.
func (p *page) flush() {
	if p.row == nil {
		return
	}
	e := p.row.entry
	name, isDir := p.below(e)
	if at, size, ok := readRow(p.row.text); ok && name != "" && !isDir {
		e.ModTime, e.Size = at, size
	}
	if p.dirs && name != "" && isDir {
		e.Kind = fetch.EntryListing
	}
	p.row = nil
	p.emit(e)
}

// below returns the last segment of a URL directly below that of the page, as written, or "".
func (p *page) below(e fetch.Entry) (name string, isDir bool) {
	dir, _, _ := strings.Cut(p.base.WithoutFragment().String(), "?")
	name, ok := strings.CutPrefix(e.URL.String(), dir[:strings.LastIndexByte(dir, '/')+1])
	name, isDir = strings.CutSuffix(name, "/")
	if !ok || strings.ContainsAny(name, "/?#") {
		return "", false
	}
	return name, isDir
}

// rowTimes lists the time layouts of the servers. They have no time zone; most use the local one.
var rowTimes = []string{"02-Jan-2006 15:04", "2006-01-02 15:04", "2006-Jan-02 15:04:05",
	"2006-01-02 15:04:05", "02-Jan-2006 15:04:05"}

// readRow parses the text after a link: a date, a time and a size. If the size is rounded, it
// returns -1.
func readRow(text string) (at time.Time, size int64, ok bool) {
	f := strings.Fields(text)
	if len(f) < 3 {
		return time.Time{}, -1, false
	}
	for _, layout := range rowTimes {
		at, err := time.Parse(layout, f[0]+" "+f[1])
		if err != nil || !fetch.PlausibleTime(at) {
			continue
		}
		if n, err := strconv.ParseInt(f[2], 10, 64); err == nil && n >= 0 {
			return at, n, true
		}
		return at, -1, true
	}
	return time.Time{}, -1, false
}

// sorts reports whether ref is the same directory in another order.
func sorts(ref string) bool {
	query, ok := strings.CutPrefix(ref, "?C=")
	return ok && len(query) == 5 && (query[1:4] == ";O=" || query[1:4] == "&O=") &&
		strings.IndexByte("NMSD", query[0]) >= 0 && strings.IndexByte("AD", query[4]) >= 0
}
