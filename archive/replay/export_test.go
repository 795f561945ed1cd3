package replay

import (
	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/fetch/uri"
)

// ErrTooMany is wrapped by the error of Open for too many records.
var ErrTooMany = errTooMany

// OpenLimit is Open with another limit for records.
func OpenLimit(limit int, paths ...string) (*Archive, error) { return open(limit, paths) }

// SetMaxCached limits the cached URLs of indexes to n.
func (a *Archive) SetMaxCached(n int) { a.maxCached = n }

// Loaded returns the captures of a URL. They are the same ones until they are read again.
func (a *Archive) Loaded(u uri.URI) (list []any) {
	for _, c := range a.capturesOf(record.Key(u)) {
		list = append(list, c)
	}
	return list
}
