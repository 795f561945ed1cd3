package fetch

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
)

const (
	blockSize = 64 << 10
	maxBlocks = 32
	// maxWindow limits the range of one request of sequential reads. It is less than the cache, so
	// that a window does not evict its own blocks.
	maxWindow = maxBlocks / 2 * blockSize
	// maxWindows is the number of remembered positions at which a sequential read may continue.
	maxWindows = 8
)

// A block is a cached piece of a Resource: blockSize bytes, or fewer at the end.
type block struct {
	start int64
	done  chan struct{} // closed when data and err are set
	data  []byte
	err   error
}

func (b *block) finish(err error) {
	b.err = err
	close(b.done)
}

type blocks []*block

func (s *blocks) find(start int64) *block {
	for i, b := range slices.Backward(*s) {
		if b.start == start {
			*s = append(slices.Delete(*s, i, i+1), b)
			return b
		}
	}
	return nil
}

func (s *blocks) add(start int64) *block {
	if len(*s) == maxBlocks {
		*s = slices.Delete(*s, 0, 1)
	}
	b := &block{start: start, done: make(chan struct{})}
	*s = append(*s, b)
	return b
}

func (s *blocks) remove(b *block) {
	if i := slices.Index(*s, b); i >= 0 {
		*s = slices.Delete(*s, i, i+1)
	}
}

type window struct{ start, end int64 }

// ReadAt implements io.ReaderAt.
func (r *Resource) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, r.fail("read", fmt.Errorf("offset %d: %w", offset, fs.ErrInvalid))
	}
	for n < len(p) {
		if err := r.checkUsable(); err != nil {
			return n, r.fail("read", err)
		}
		m, err := r.readBlock(p[n:], offset+int64(n))
		n += m
		if err != nil {
			return n, r.fail("read", err)
		}
	}
	return n, nil
}

func (r *Resource) readBlock(p []byte, offset int64) (int, error) {
	if n := copy(p, r.headFrom(offset)); n > 0 {
		return n, nil
	}
	if size := r.Size(); size >= 0 && offset >= size {
		return 0, io.EOF
	}
	b, err := r.block(offset, offset+int64(len(p)))
	if err != nil {
		return 0, err
	}
	at := offset - b.start
	if at >= int64(len(b.data)) {
		return 0, io.EOF
	}
	return copy(p, b.data[at:]), nil
}

func (r *Resource) hasBlock(offset int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocks.find(offset&^(blockSize-1)) != nil
}

// block returns the block that contains offset, and loads it if necessary. Need is the offset at
// which the caller will stop reading.
func (r *Resource) block(offset, need int64) (*block, error) {
	start := offset &^ (blockSize - 1)
	r.mu.Lock()
	if b := r.blocks.find(start); b != nil {
		r.mu.Unlock()
		select {
		case <-b.done:
			return b, b.err
		case <-r.ctx.Done():
			return nil, r.checkUsable()
		}
	}
	w := r.window(start, need)
	list := []*block{r.blocks.add(start)}
	for at := start + blockSize; at < w.end && r.blocks.find(at) == nil; at += blockSize {
		list = append(list, r.blocks.add(at))
	}
	w.end = min(w.end, start+int64(len(list))*blockSize)
	r.mu.Unlock()
	l := loader{resource: r, end: w.end, tries: r.newTries()}
	for _, b := range list {
		b.finish(l.load(b))
	}
	l.finish(list)
	return list[0], list[0].err
}

// window returns the range to request at start: up to need, and at least twice as long as the
// previous window if that ended at start.
func (r *Resource) window(start, need int64) window {
	length := int64(blockSize)
	if i := slices.IndexFunc(r.windows, func(w window) bool { return w.end == start }); i >= 0 {
		length = 2 * (r.windows[i].end - r.windows[i].start)
		r.windows = slices.Delete(r.windows, i, i+1)
	}
	length = min(max(length, need-start), maxWindow)
	w := window{start, start + (length+blockSize-1)&^(blockSize-1)}
	if r.size >= 0 {
		w.end = max(start, min(w.end, r.size))
	}
	if len(r.windows) == maxWindows {
		r.windows = slices.Delete(r.windows, 0, 1)
	}
	r.windows = append(r.windows, w)
	return w
}

type loader struct {
	resource *Resource
	end      int64
	tries    *tries
	c        *cursor
	err      error // io.EOF at the end of the content
}

func (l *loader) load(b *block) error {
	b.data = make([]byte, 0, max(0, min(blockSize, l.end-b.start)))
	for l.err == nil && len(b.data) < cap(b.data) {
		n, err := l.read(b.data[len(b.data):cap(b.data)], b.start+int64(len(b.data)))
		b.data = b.data[:len(b.data)+n]
		if n > 0 {
			l.tries = l.resource.newTries()
		}
		if err != nil && err != io.EOF {
			err = l.tries.wait(err)
		}
		l.err = err
	}
	if l.err == io.EOF {
		return nil
	}
	return l.err
}

func (l *loader) read(p []byte, offset int64) (int, error) {
	r := l.resource
	if l.c == nil {
		c := r.takeIdle(offset, maxSkip)
		if c == nil {
			var err error
			if c, err = r.request(offset, l.end-offset); err != nil {
				return 0, err
			}
		}
		if err := c.skipTo(offset); err != nil {
			return 0, r.closeCursor(c, err)
		}
		l.c = c
	}
	c := l.c
	n, err := io.ReadFull(c.body, p)
	c.off += int64(n)
	if err == nil && (c.off == c.end || c.off == r.Size()) {
		// Data at the end of the range is complete only if the protocol confirms the end.
		var extra int64
		if extra, err = io.Copy(io.Discard, io.LimitReader(c.body, 1)); extra > 0 {
			err = ErrProtocol.Errorf("the server sent more bytes than it announced")
		} else if err == nil {
			err = io.EOF
		}
		if err != io.EOF {
			n = 0
		}
	}
	if err == nil {
		return n, nil
	}
	if err == io.ErrUnexpectedEOF { // from ReadFull: the response has ended
		err = io.EOF
	}
	l.c = nil
	if err = r.closeCursor(c, err); err == nil && n == 0 {
		err = ErrProtocol.Errorf("the server sent an empty range")
	}
	return n, err
}

// finish keeps the response for later reads if it runs to the end, and removes the blocks that
// failed.
func (l *loader) finish(list []*block) {
	r := l.resource
	if l.c != nil {
		r.storeIdle(l.c)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range list {
		if b.err != nil {
			r.blocks.remove(b)
		}
	}
}
