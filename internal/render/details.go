package render

import (
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
)

type details struct {
	Mode   string
	Target string // of a symbolic link
	Number uint64 // of an article in its group
	From   string // its author
}

const maxAuthor = 24 // characters of an author that are shown

func detailsOf(e fetch.Entry) details {
	var d details
	for _, fact := range e.Facts().List {
		switch fact.Name {
		case "mode":
			d.Mode, _ = fact.Value.(string)
		case "target":
			if fact.Optional { // every Prospero link has a target, which is its kind
				d.Target, _ = fact.Value.(string)
			}
		case "number":
			d.Number = unsigned(fact.Value)
		case "from":
			d.From, _ = fact.Value.(string)
		}
	}
	return d
}

func unsigned(value any) uint64 {
	switch n := value.(type) {
	case uint64:
		return n
	case int64:
		return uint64(max(n, 0))
	}
	return 0
}

func (d details) author() string {
	name, _, _ := strings.Cut(d.From, " <")
	runes := []rune(fetch.Printable(strings.Trim(name, `"`)))
	return string(runes[:min(len(runes), maxAuthor)])
}

const maxSorted = 4096

// sortMembers yields the members of a directory, whose names match their URLs, sorted by name. Other
// entries keep their order.
func sortMembers(entries iter.Seq2[fetch.Entry, error]) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		var buffer []fetch.Entry
		buffering := true
		byName := func(a, b fetch.Entry) int { return strings.Compare(a.Name, b.Name) }
		flush := func(sort bool) bool {
			buffering = false
			if sort {
				slices.SortStableFunc(buffer, byName)
			}
			for _, e := range buffer {
				if !yield(e, nil) {
					return false
				}
			}
			buffer = nil
			return true
		}
		for e, err := range entries {
			switch {
			case buffering && err == nil && isMember(e) && len(buffer) < maxSorted:
				buffer = append(buffer, e)
				continue
			case buffering && !flush(len(buffer) >= maxSorted || err != nil):
				return
			}
			if !yield(e, err) {
				return
			}
		}
		if buffering {
			flush(true)
		}
	}
}

// isMember reports whether e is a member of a directory under its own name.
func isMember(e fetch.Entry) bool {
	if e.Rel != "item" || e.Kind != fetch.EntryObject && e.Kind != fetch.EntryListing || e.URL.IsZero() {
		return false
	}
	path := strings.TrimSuffix(e.URL.Path(), "/")
	name, err := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
	return err == nil && name == e.Name
}
