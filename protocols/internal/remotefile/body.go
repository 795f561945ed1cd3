package remotefile

import (
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// Reads performs the reads of a Body. R stands for a read that was sent. The functions are called by
// one goroutine at a time. Those without which a Body can do may be nil.
type Reads[R any] struct {
	// MinWindow and MaxWindow limit the number of reads in flight, which grows with each response.
	MinWindow, MaxWindow int
	// Size limits how much one read asks for, in bytes.
	Size int
	// Send asks for up to size bytes from offset on. If ahead is true, other reads are in flight; it
	// may then put the read off, by asking for 0 bytes, as it does if the server grants no more.
	Send func(offset int64, size int, ahead bool) (read R, asked int, err error)
	// Flush sends what Send collected.
	Flush func() error
	// Receive waits for the data of a read. The error at the end of the file is io.EOF.
	Receive func(read R, asked int) ([]byte, error)
	// Release frees the data that Receive returned last, if any.
	Release func()
	// Arrived is called once all data has arrived, before the reader has taken it.
	Arrived func()
	// Complete is called after Arrived, when the reader has taken everything. It returns what the body
	// ends with in place of io.EOF, or nil.
	Complete func() error
	// Lost reports whether an error is that of a connection that was lost.
	Lost func(error) bool
}

// A Body reads the content of a file. It is complete when as many bytes have arrived as the server
// said the file has; if the file ends earlier, it is truncated. Reads are sent ahead of the reader.
// Close may be called concurrently with reads.
type Body[R any] struct {
	wire.Pieces
	reads   Reads[R]
	ask     int64 // offset of the next read to send
	at      int64 // offset up to which the reader has been given data
	end     int64 // -1 if only the server knows the end
	window  int
	queue   []piece[R] // in file order
	first   []byte     // what First has received
	arrived bool

	mu   sync.Mutex
	err  error           // sticky; io.EOF after the end
	over func(err error) // nil before Start, and when it has been called
}

// A piece is a part of the file that has been requested.
type piece[R any] struct {
	size  int // still to come
	asked int // by the last read
	read  R
}

// NewBody returns the body for the part of a file that meta describes. If the size of a whole file is
// not known (-1), one read after the other finds its end.
func NewBody[R any](reads Reads[R], meta *driver.Meta) *Body[R] {
	b := &Body[R]{reads: reads, at: meta.Range.Offset, ask: meta.Range.Offset, end: -1, window: 1}
	if meta.Size >= 0 {
		b.end, b.window = b.at+meta.Size, reads.MinWindow
	}
	return b
}

// Fill sends further reads.
func (b *Body[R]) Fill() error {
	for len(b.queue) < b.window && (b.end < 0 || b.ask < b.end) {
		size := b.reads.Size
		if b.end >= 0 {
			size = int(min(int64(size), b.end-b.ask))
		}
		read, asked, err := b.reads.Send(b.ask, size, len(b.queue) > 0)
		if err != nil {
			return err
		}
		if asked == 0 {
			break
		}
		b.queue = append(b.queue, piece[R]{asked, asked, read})
		b.ask += int64(asked)
	}
	if b.reads.Flush != nil {
		return b.reads.Flush()
	}
	return nil
}

// Drop calls abandon for the reads in flight, because another body takes over.
func (b *Body[R]) Drop(abandon func(R)) {
	for _, p := range b.queue {
		abandon(p.read)
	}
}

// First waits for the first data, which shows whether the file may be read. At the end of the file
// the error is io.EOF.
func (b *Body[R]) First() (err error) {
	b.first, err = b.next()
	return err
}

// Start returns the body for a response. It calls over once when the body ends: with io.EOF, with
// net.ErrClosed if it was closed before, or with the error that reading ends with.
func (b *Body[R]) Start(over func(err error)) io.ReadCloser {
	b.Pieces, b.over = wire.NewPieces(b.first, b.next, b.state), over
	if b.err != nil {
		b.finish(b.err)
	}
	return b
}

// next waits for the next part of the content. It returns io.EOF at the end.
func (b *Body[R]) next() ([]byte, error) {
	b.reads.Release()
	if err := b.state(); err != nil {
		return nil, err
	}
	if b.at == b.end {
		return nil, b.finish(b.complete())
	}
	if err := b.Fill(); err != nil {
		return nil, b.finish(b.explain(err))
	}
	if len(b.queue) == 0 {
		return nil, b.finish(Violation("the server grants no read"))
	}
	head := &b.queue[0]
	data, err := b.reads.Receive(head.read, head.asked)
	if err == nil && (len(data) == 0 || len(data) > head.asked) {
		err = Violation("%d bytes in response to a READ of %d", len(data), head.asked)
	}
	if err != nil {
		return nil, b.finish(b.explain(err))
	}
	b.at += int64(len(data))
	if err := b.advance(len(data)); err != nil {
		return nil, b.finish(b.explain(err))
	}
	return data, nil
}

// advance sends what may be sent after n bytes have arrived: the rest of a piece of which the server
// sent less, or further reads.
func (b *Body[R]) advance(n int) (err error) {
	head := &b.queue[0]
	head.size -= n
	switch {
	case b.end < 0:
		b.queue, b.ask = b.queue[1:], b.at
		return nil
	case head.size > 0:
		if head.read, head.asked, err = b.reads.Send(b.at, head.size, false); err != nil {
			return err
		}
	default:
		b.queue = b.queue[1:]
		b.window = min(b.window+1, b.reads.MaxWindow)
	}
	if b.at == b.end {
		b.allArrived()
		return nil
	}
	return b.Fill()
}

func (b *Body[R]) allArrived() {
	if !b.arrived && b.reads.Arrived != nil {
		b.reads.Arrived()
	}
	b.arrived = true
}

// complete returns what the body ends with after all content.
func (b *Body[R]) complete() error {
	b.allArrived()
	if b.reads.Complete != nil {
		if err := b.reads.Complete(); err != nil {
			return err
		}
	}
	return io.EOF
}

// explain returns the error for content that ended early because of err.
func (b *Body[R]) explain(err error) error {
	switch {
	case err == io.EOF && b.end >= 0:
		return &driver.Error{Code: driver.ErrTruncated, Retry: true,
			Err: fmt.Errorf("the file ended after %s: it shrank while it was read", progress(b.at, b.end))}
	case err != io.EOF && b.reads.Lost(err):
		return truncated("after "+progress(b.at, b.end), err)
	}
	return err
}

// state returns the final error, or nil.
func (b *Body[R]) state() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// finish ends the body with err, unless it has ended already, and returns its final error.
func (b *Body[R]) finish(err error) error {
	b.mu.Lock()
	if b.err == nil {
		b.err = err
	}
	err = b.err
	over := b.over
	b.over = nil
	b.mu.Unlock()
	if over != nil {
		over(err)
	}
	return err
}

// Close implements io.Closer. It abandons what is unread and does not wait.
func (b *Body[R]) Close() error {
	b.finish(net.ErrClosed)
	return nil
}
