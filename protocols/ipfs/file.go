package ipfs

import (
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

const (
	// firstWindow and maxWindow limit the blocks of a file that are retrieved at once. The number grows
	// with each block.
	firstWindow, maxWindow = 2, 6
	// maxDepth limits the blocks from the root of a file to its content.
	maxDepth = 32
)

func (t *tree) file(ctx context.Context, at *target, n *node) (*fetch.Response, error) {
	meta := remotefile.Describe(at.fileName(), n.size, n.mtime)
	meta.ETag = strconv.Quote(n.id.String())
	if len(n.links) == 0 && n.id.codec == codecRaw && n.id.hash == hashSHA256 {
		meta.Digests = []fetch.Digest{{Algorithm: "sha-256", Sum: []byte(n.id.digest), By: "cid",
			Covers: fetch.CoversResource}}
	}
	if err := remotefile.Select(at.req, &meta); err != nil {
		return nil, err
	}
	resp := &fetch.Response{URL: at.url, Meta: meta, Body: fetch.NoBody}
	if at.req.Op == fetch.OpStat {
		return resp, nil
	}
	c := &content{source: t.source, from: meta.Range.Offset, window: firstWindow}
	c.to = c.from + meta.Size
	c.ctx, c.cancel = context.WithCancel(ctx)
	first := c.expand(n, 0, 0)
	c.Pieces = wire.NewPieces(first, c.next, c.state)
	resp.Body = c
	return resp, nil
}

// A content is the body of a file: the blocks of a part of it, in order.
type content struct {
	wire.Pieces
	*source
	ctx      context.Context
	cancel   context.CancelFunc
	from, to int64   // in the file
	queue    []piece // next is the last
	window   int
	open     int // number of blocks requested and not used

	mu  sync.Mutex
	err error // sticky
}

// A piece is a part of a file that is in a block, or in those below it.
type piece struct {
	id        cid
	off, size int64
	depth     int
	pending   *pending // nil before it is requested
}

// expand returns the part of the data of n, which begins at off, that belongs to the content. The
// blocks that n links to become the next pieces.
func (c *content) expand(n *node, off int64, depth int) []byte {
	data := clip(n.data, c.from-off, c.to-off)
	off += int64(len(n.data))
	first := len(c.queue)
	for i, l := range n.links {
		size := n.sizes[i]
		if size > 0 && off < c.to && off+size > c.from {
			c.queue = append(c.queue, piece{id: l.id, off: off, size: size, depth: depth + 1})
		}
		off += size
	}
	slices.Reverse(c.queue[first:])
	return data
}

func clip(b []byte, from, to int64) []byte {
	from, to = max(from, 0), min(to, int64(len(b)))
	if from >= to {
		return nil
	}
	return b[from:to]
}

// next returns the next data of the file.
func (c *content) next() ([]byte, error) {
	for {
		if err := c.state(); err != nil {
			return nil, err
		}
		if len(c.queue) == 0 {
			return nil, c.finish(io.EOF)
		}
		data, err := c.take()
		if err != nil {
			return nil, c.finish(err)
		}
		if len(data) > 0 {
			return data, nil
		}
	}
}

// take waits for the block of the next piece, and requests some of those after it.
func (c *content) take() ([]byte, error) {
	last := len(c.queue) - 1
	for i := last; i >= 0 && i > last-c.window; i-- {
		if p := &c.queue[i]; p.pending == nil && (i == last || c.open < c.window) {
			p.pending = c.start(c.ctx, p.id, maxBlock)
			c.open++
		}
	}
	p := c.queue[last]
	c.queue[last] = piece{}
	c.queue = c.queue[:last]
	n, err := p.pending.wait(c.ctx)
	if err != nil {
		return nil, err
	}
	c.open--
	c.window = min(c.window+1, maxWindow)
	switch {
	case n.kind != kindFile:
		return nil, damaged("block %s: not a part of a file", n.id)
	case n.size != p.size:
		return nil, damaged("block %s: has %d bytes of a file, expected %d", n.id, n.size, p.size)
	case p.depth == maxDepth && len(n.links) > 0:
		return nil, damaged("block %s: more than %d blocks above it", n.id, maxDepth)
	}
	return c.expand(n, p.off, p.depth), nil
}

func (c *content) state() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *content) finish(err error) error {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	return c.err
}

func (c *content) Close() error {
	c.finish(net.ErrClosed)
	return nil
}
