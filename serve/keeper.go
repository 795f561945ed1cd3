package serve

import (
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxKept    = 4 << 20  // bytes of one content
	maxKeptAll = 32 << 20 // bytes of all
)

// A keeper keeps small contents between the page that shows them and its frame, so that they are
// retrieved once. The oldest make room for others.
type keeper struct {
	mu   sync.Mutex
	list []*keptContent
	size int
}

type keptContent struct {
	id   string
	url  uri.URI
	meta fetch.Meta
	data []byte
}

// add keeps a content and returns what it is called, which cannot be guessed.
func (k *keeper) add(u uri.URI, meta fetch.Meta, data []byte) string {
	c := &keptContent{newID(), u, meta, data}
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.size += len(data); k.size > maxKeptAll; k.list = k.list[1:] {
		k.size -= len(k.list[0].data)
	}
	k.list = append(k.list, c)
	return c.id
}

// get returns a content, nil if it is no longer there.
func (k *keeper) get(id string) *keptContent {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.list {
		if c.id == id {
			return c
		}
	}
	return nil
}
