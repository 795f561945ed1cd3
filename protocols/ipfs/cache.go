package ipfs

import "sync"

const (
	// maxCached limits the blocks of a cache together, in bytes.
	maxCached = 4 << 20
	// maxCachedBlock limits each of them.
	maxCachedBlock = 512 << 10
)

// A cache keeps verified blocks of directories, so that the files of a tree do not need them again.
type cache struct {
	mu     sync.Mutex
	blocks map[cid][]byte
	order  []cid // oldest first
	size   int
}

func (c *cache) get(id cid) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.blocks[id]
	return b, ok
}

func (c *cache) put(id cid, block []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.blocks[id]; ok || len(block) > maxCachedBlock {
		return
	}
	if c.blocks == nil {
		c.blocks = make(map[cid][]byte)
	}
	c.blocks[id], c.order, c.size = block, append(c.order, id), c.size+len(block)
	for c.size > maxCached {
		c.size -= len(c.blocks[c.order[0]])
		delete(c.blocks, c.order[0])
		c.order = c.order[1:]
	}
}
