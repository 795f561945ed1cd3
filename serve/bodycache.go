package serve

import (
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxCachedBody = 4 << 20  // bytes of one body
	maxCacheSize  = 32 << 20 // bytes of all bodies
)

// A bodyCache caches small bodies between a page and its frame, so that each is retrieved once. It
// evicts the oldest.
type bodyCache struct {
	mu   sync.Mutex
	list []*cachedBody
	size int
}

type cachedBody struct {
	id   string
	url  uri.URI
	part string // the part of a message that data is; "" for all of it
	meta fetch.Meta
	data []byte
}

func (k *bodyCache) add(u uri.URI, part string, meta fetch.Meta, data []byte) string {
	c := &cachedBody{newID(), u, part, meta, data}
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.size += len(data); k.size > maxCacheSize; k.list = k.list[1:] {
		k.size -= len(k.list[0].data)
	}
	k.list = append(k.list, c)
	return c.id
}

func (k *bodyCache) get(id string) *cachedBody {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.list {
		if c.id == id {
			return c
		}
	}
	return nil
}
