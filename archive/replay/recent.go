package replay

import (
	"net/http"
	"slices"

	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch/uri"
)

// maxRecent is how many of the records of a URL that repeat the content of another one a cache needs: a
// response that was confirmed more often is looked up as fast as the others.
const maxRecent = 64

// KeepRecent makes the archive find only the latest 64 records of a URL that repeat the content of
// another one, such as responses 304. It is for caches, and must be called before the first request.
func (a *Archive) KeepRecent() { a.recent = true }

func (a *Archive) recentLocations(list []location) []location {
	return newest(a, list, func(l location) bool { return l.repeats })
}

// newest removes all but the last repetitions from a list.
func newest[T any](a *Archive, list []T, repeats func(T) bool) []T {
	excess := -maxRecent
	for _, one := range list {
		if repeats(one) {
			excess++
		}
	}
	if !a.recent || excess <= 0 {
		return list
	}
	return slices.DeleteFunc(list, func(one T) bool {
		if excess <= 0 || !repeats(one) {
			return false
		}
		excess--
		return true
	})
}

// addGrown adds a record that the growing index has since the last lookup, if its URL was looked up.
func (a *Archive) addGrown(u uri.URI, l location) {
	key, t := record.Key(u), a.cached[0]
	if !t.keys[key] {
		return
	}
	if !httprecord.InScheme(u.Scheme()) { // several records make a capture: they are loaded again
		delete(t.keys, key)
		delete(t.captures, key)
		delete(t.changed, key)
		return
	}
	a.load(a.growing, key, []location{l})
	if len(t.captures[key]) > 2*maxRecent {
		// The old list may be in use.
		t.captures[key] = newest(a, slices.Clone(t.captures[key]), func(c *snapshot) bool {
			return c.kind == warc.Revisit || c.status == http.StatusNotModified
		})
	}
}
