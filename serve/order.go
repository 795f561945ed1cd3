package serve

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// maxHeld limits how many entries are held in memory for sorting and threads.
const maxHeld = 50_000

type heading struct {
	Title  string
	Link   string
	Sorted string // "ascending", "descending" or ""
	Number bool
}

func (l *listing) headings() []heading {
	list := []heading{l.heading("kind", "Kind", false), l.heading("name", "Name", false)}
	if l.sizes {
		list = append(list, l.heading("size", "Size", true))
	}
	if l.dates {
		list = append(list, l.heading("date", "Date", false))
	}
	for _, c := range l.columns {
		list = append(list, l.heading(c.Key, c.Title, c.Number))
	}
	return list
}

func (l *listing) heading(key, title string, number bool) heading {
	h := heading{Title: title, Number: number}
	order, layout := "", ""
	switch {
	case l.sort == key && l.down:
		h.Sorted = "descending"
	case l.sort == key:
		h.Sorted, order = "ascending", "desc"
	}
	if l.layout == asList {
		layout = asList
	}
	h.Link = l.query("sort", key, "order", order, "layout", layout)
	return h
}

func compareNames(a, b fetch.Entry) int {
	return cmp.Or(compareLast(a.Kind != fetch.EntryListing, b.Kind != fetch.EntryListing),
		strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
}

func compareLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

type sortable struct {
	fetch.Entry
	facts fetch.Facts
	last  bool // text or an error
}

// sorted yields entries in the requested order. Entries beyond maxHeld follow unsorted.
func (l *listing) sorted(entries iter.Seq[fetch.Entry]) iter.Seq[fetch.Entry] {
	return func(yield func(fetch.Entry) bool) {
		next, stop := iter.Pull(entries)
		defer stop()
		var held []sortable
		for len(held) < maxHeld {
			e, ok := next()
			if !ok {
				break
			}
			held = append(held,
				sortable{e, e.Facts(), e.Kind == fetch.EntryText || e.Kind == fetch.EntryError})
		}
		slices.SortStableFunc(held, l.compare)
		for _, k := range held {
			if !yield(k.Entry) {
				return
			}
		}
		for e, ok := next(); ok; e, ok = next() {
			if !yield(e) {
				return
			}
		}
	}
}

func (l *listing) compare(a, b sortable) int {
	if a.last != b.last {
		return compareLast(a.last, b.last)
	}
	if l.down {
		a, b = b, a
	}
	switch l.sort {
	case "name":
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	case "size":
		return cmp.Compare(a.Size, b.Size)
	case "date":
		return a.ModTime.Compare(b.ModTime)
	case "kind":
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.ContentType, b.ContentType))
	}
	x, isNumber := numberOf(a.facts, l.sort)
	y, areNumbers := numberOf(b.facts, l.sort)
	if isNumber && areNumbers {
		return cmp.Compare(x, y)
	}
	return strings.Compare(textOf(a.facts, l.sort), textOf(b.facts, l.sort))
}
