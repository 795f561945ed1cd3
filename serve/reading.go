package serve

import (
	"slices"
	"sync"

	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxReadings = 8      // listings whose order is kept
	maxReading  = 10_000 // entries of each
)

// A reading is a listing as it was shown, so that its entries can be read one after the other.
type reading struct {
	listing address
	entries []uri.URI
	index   map[uri.URI]int
}

type readings struct {
	mu   sync.Mutex
	list []*reading // oldest first
}

func newReading(listing address) *reading {
	return &reading{listing: listing, index: make(map[uri.URI]int)}
}

// add appends an entry. Later occurrences of a URL are ignored.
func (r *reading) add(u uri.URI) {
	if _, ok := r.index[u]; !ok && len(r.entries) < maxReading {
		r.index[u] = len(r.entries)
		r.entries = append(r.entries, u)
	}
}

func (r *readings) add(next *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(old *reading) bool { return old.listing.url == next.listing.url })
	r.list = append(r.list, next)
	if len(r.list) > maxReadings {
		r.list = r.list[1:]
	}
}

// around returns the listing that led to a, and the entries before and after a in it, which may be
// zero. It returns false if the listing is not known.
func (r *readings) around(a address) (listing, previous, next address, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.list {
		i, found := one.index[a.url]
		if !found || one.listing.url != a.from {
			continue
		}
		if i > 0 {
			previous = one.listing.to(one.entries[i-1])
		}
		if i+1 < len(one.entries) {
			next = one.listing.to(one.entries[i+1])
		}
		return one.listing, previous, next, true
	}
	return address{}, address{}, address{}, false
}
