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

type reading struct {
	listing address
	entries []uri.URI
	depths  []int // of the entries, in threads
	index   map[uri.URI]int
}

type readings struct {
	mu   sync.Mutex
	list []*reading // oldest first
}

func newReading(listing address) *reading {
	return &reading{listing: listing, index: make(map[uri.URI]int)}
}

func (r *reading) add(u uri.URI, depth int) {
	if _, ok := r.index[u]; !ok && len(r.entries) < maxReading {
		r.index[u] = len(r.entries)
		r.entries, r.depths = append(r.entries, u), append(r.depths, depth)
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

func (r *readings) around(a address) (listing, previous, next address, ok bool) {
	one, i := r.find(a)
	if one == nil {
		return address{}, address{}, address{}, false
	}
	if i > 0 {
		previous = one.listing.to(one.entries[i-1])
	}
	if i+1 < len(one.entries) {
		next = one.listing.to(one.entries[i+1])
	}
	return one.listing, previous, next, true
}

// find returns the listing that led to an address, with its place there, or nil.
func (r *readings) find(a address) (*reading, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.list {
		if i, ok := one.index[a.url]; ok && one.listing.url == a.from {
			return one, i
		}
	}
	return nil, 0
}

func (r *readings) thread(a address) (articles []address, depths []int) {
	one, i := r.find(a)
	if one == nil {
		return nil, nil
	}
	for i > 0 && one.depths[i] > 0 {
		i--
	}
	for end := i; end == i || end < len(one.entries) && one.depths[end] > 0; end++ {
		articles = append(articles, one.listing.to(one.entries[end]))
		depths = append(depths, one.depths[end])
	}
	return articles, depths
}
