package warc

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// sequentialBytes is how much of a file is read in order, in compressed bytes, before the reader
	// inflates ahead. Reading single records by their offset therefore costs nothing.
	sequentialBytes = 512 << 10
	// chunkBytes is the size of a chunk in compressed bytes. The members that begin in it are
	// inflated by one goroutine, up to maxChunk bytes.
	chunkBytes = 256 << 10
	maxChunk   = 4 << 20
	// maxChunks limits the chunks in memory.
	maxChunks = 5
)

// A readahead inflates the members of a gzip file on other processors before the reader needs them.
// It guesses where members begin. A guess counts only if the reader arrives at that offset, so a wrong
// guess, damage or a large member only means that the reader inflates the member itself.
type readahead struct {
	input  *input
	chunks []*chunk // consecutive; the reader is in or before the first one
	end    int64    // of the last chunk
	window int      // number of chunks
	stop   atomic.Bool
	active sync.WaitGroup
	free   [][]byte // buffers of chunks that have been read
}

type inflated struct {
	offset, end int64 // in the file
	data        []byte
}

// A chunk is a part of the file and the members that begin in it.
type chunk struct {
	begin, end int64
	buf        []byte
	members    []inflated // valid after done
	done       chan struct{}
	eof        bool // no member begins in or after the chunk; valid after done
}

// newReadahead returns a readahead from offset. It returns nil if there is only one processor.
func newReadahead(in *input, offset int64) *readahead {
	n := runtime.GOMAXPROCS(0)
	if n < 2 {
		return nil
	}
	a := &readahead{input: in, end: offset, window: min(n+1, maxChunks)}
	a.fill()
	return a
}

func (a *readahead) fill() {
	for len(a.chunks) < a.window {
		c := &chunk{begin: a.end, end: a.end + chunkBytes, done: make(chan struct{})}
		if n := len(a.free); n > 0 {
			c.buf, a.free = a.free[n-1][:0], a.free[:n-1]
		}
		a.end = c.end
		a.chunks = append(a.chunks, c)
		arc := a.input.arc
		a.active.Go(func() {
			defer close(c.done)
			c.inflate(a.input.file, arc, &a.stop)
		})
	}
}

// take returns the member at offset, if it has been inflated. It is valid until the next call. The
// offsets must not decrease.
func (a *readahead) take(offset int64) (inflated, bool) {
	if a == nil {
		return inflated{}, false
	}
	for len(a.chunks) > 0 && offset >= a.chunks[0].begin {
		c := a.chunks[0]
		<-c.done
		for len(c.members) > 0 && c.members[0].offset < offset {
			c.members = c.members[1:]
		}
		if len(c.members) > 0 {
			m := c.members[0]
			if m.offset > offset {
				break // the reader inflates the member
			}
			c.members = c.members[1:]
			return m, true
		}
		if offset < c.end && !c.eof {
			break
		}
		a.chunks = a.chunks[1:]
		a.free = append(a.free, c.buf)
		if !c.eof {
			a.fill()
		}
	}
	return inflated{}, false
}

func (a *readahead) close() {
	if a == nil {
		return
	}
	a.stop.Store(true)
	a.active.Wait()
}

// inflate inflates the members that begin in the chunk, until one of them is damaged or too large.
func (c *chunk) inflate(file io.ReaderAt, arc bool, stop *atomic.Bool) {
	first := &gzipped{input: newInput(io.NewSectionReader(file, 0, c.end))}
	first.arc = arc
	if err := first.seek(c.begin); err != nil {
		n, _ := file.ReadAt(make([]byte, 1), c.end)
		c.eof = n == 0
		return
	}
	g := &gzipped{input: newInput(file)}
	g.input.seekTo(first.pos())
	for g.pos() < c.end && !stop.Load() {
		m, err := g.inflate()
		if err != nil {
			c.eof = err == io.EOF
			return
		}
		begin := len(c.buf)
		if !c.read(m) {
			return
		}
		c.members = append(c.members, inflated{m.offset, g.pos(), c.buf[begin:len(c.buf):len(c.buf)]})
	}
}

// read appends the data of a member to the buffer. It returns false if the member is damaged or too
// large.
func (c *chunk) read(r io.Reader) bool {
	for {
		if len(c.buf) == cap(c.buf) {
			if cap(c.buf) >= maxChunk {
				return false
			}
			// Members point to the old buffer, which remains valid.
			c.buf = append(make([]byte, 0, max(2*cap(c.buf), chunkBytes)), c.buf...)
		}
		n, err := r.Read(c.buf[len(c.buf):cap(c.buf)])
		c.buf = c.buf[:len(c.buf)+n]
		if err != nil {
			return err == io.EOF
		}
	}
}
