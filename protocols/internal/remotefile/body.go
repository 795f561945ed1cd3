package remotefile

import (
	"errors"
	"io"
	"net"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// Reads performs the reads of a Body. R is a read in flight. The functions are called by one
// goroutine at a time. Flush, Arrived and Complete may be nil.
type Reads[R any] struct {
	// MinWindow and MaxWindow limit the number of reads in flight, which grows with each response.
	MinWindow, MaxWindow int
	// Size limits one read, in bytes.
	Size int
	// Send requests up to size bytes at offset. If ahead is true, other reads are in flight, and
	// Send may defer the read by requesting 0 bytes. It also requests 0 bytes if the server grants
	// no more.
	Send func(offset int64, size int, ahead bool) (read R, requested int, err error)
	// Flush sends the reads that Send collected.
	Flush func() error
	// Receive waits for the data of a read. It returns io.EOF at the end of the file.
	Receive func(read R, requested int) ([]byte, error)
	// Release frees the data that Receive returned last, if any.
	Release func()
	// Arrived is called once all data have arrived, before the reader has consumed them.
	Arrived func()
	// Complete is called after Arrived, when the reader has consumed all data. If it returns an
	// error, the body ends with that instead of io.EOF.
	Complete func() error
	// Lost reports whether an error means that the connection was lost. Nil means that it does if it
	// matches ErrLost.
	Lost func(error) bool
}

// A Body is the body of a file. It is complete when all bytes of the file's size have arrived; if
// the file ends earlier, it is truncated. Reads are sent ahead of the reader. Close may be called
// concurrently with reads.
type Body[R any] struct {
	wire.Pieces
	reads       Reads[R]
	sendOffset  int64 // offset of the next read to send
	offset      int64 // offset of the next byte to receive
	end         int64 // -1 if only the server knows the end
	window      int
	queue       []piece[R] // in file order
	first       []byte     // data received by First
	allReceived bool

	mu    sync.Mutex
	err   error           // sticky; io.EOF after the end
	onEnd func(err error) // nil before Start and after its call
}

type piece[R any] struct {
	size      int // bytes that remain
	requested int // bytes requested by the last read
	read      R
}

// NewBody returns the body for the part of a file in meta. If the size of the file is unknown (-1),
// it reads one piece at a time up to the end.
func NewBody[R any](reads Reads[R], meta *fetch.Meta) *Body[R] {
	if reads.Lost == nil {
		reads.Lost = func(err error) bool { return errors.Is(err, ErrLost) }
	}
	b := &Body[R]{reads: reads, offset: meta.Range.Offset, sendOffset: meta.Range.Offset, end: -1, window: 1}
	if meta.Size >= 0 {
		b.end, b.window = b.offset+meta.Size, reads.MinWindow
	}
	return b
}

// Fill sends further reads.
func (b *Body[R]) Fill() error {
	for len(b.queue) < b.window && (b.end < 0 || b.sendOffset < b.end) {
		size := b.reads.Size
		if b.end >= 0 {
			size = int(min(int64(size), b.end-b.sendOffset))
		}
		read, requested, err := b.reads.Send(b.sendOffset, size, len(b.queue) > 0)
		if err != nil {
			return err
		}
		if requested == 0 {
			break
		}
		b.queue = append(b.queue, piece[R]{requested, requested, read})
		b.sendOffset += int64(requested)
	}
	if b.reads.Flush != nil {
		return b.reads.Flush()
	}
	return nil
}

// Drop calls abandon for each read in flight, because another body takes over.
func (b *Body[R]) Drop(abandon func(R)) {
	for _, p := range b.queue {
		abandon(p.read)
	}
}

// First waits for the first data, which shows whether the file may be read. It returns io.EOF at
// the end of the file.
func (b *Body[R]) First() (err error) {
	b.first, err = b.next()
	return err
}

// Start returns the body for a response. It calls onEnd once when the body ends: with io.EOF at the
// end, with net.ErrClosed if the body is closed earlier, or with the error of a read.
func (b *Body[R]) Start(onEnd func(err error)) io.ReadCloser {
	b.Pieces, b.onEnd = wire.NewPieces(b.first, b.next, b.state), onEnd
	if b.err != nil {
		b.finish(b.err)
	}
	return b
}

func (b *Body[R]) next() ([]byte, error) {
	b.reads.Release()
	if err := b.state(); err != nil {
		return nil, err
	}
	if b.offset == b.end {
		return nil, b.finish(b.complete())
	}
	if err := b.Fill(); err != nil {
		return nil, b.finish(b.wrapError(err))
	}
	if len(b.queue) == 0 {
		return nil, b.finish(fetch.ErrProtocol.Errorf("the server allows no reads"))
	}
	head := &b.queue[0]
	data, err := b.reads.Receive(head.read, head.requested)
	if err == nil && (len(data) == 0 || len(data) > head.requested) {
		err = fetch.ErrProtocol.Errorf("%d bytes in response to a READ of %d", len(data), head.requested)
	}
	if err != nil {
		return nil, b.finish(b.wrapError(err))
	}
	b.offset += int64(len(data))
	if err := b.advance(len(data)); err != nil {
		return nil, b.finish(b.wrapError(err))
	}
	return data, nil
}

// After a short read, advance first requests the rest of the piece.
func (b *Body[R]) advance(n int) (err error) {
	head := &b.queue[0]
	head.size -= n
	switch {
	case b.end < 0:
		b.queue, b.sendOffset = b.queue[1:], b.offset
		return nil
	case head.size > 0:
		if head.read, head.requested, err = b.reads.Send(b.offset, head.size, false); err != nil {
			return err
		}
	default:
		b.queue = b.queue[1:]
		b.window = min(b.window+1, b.reads.MaxWindow)
	}
	if b.offset == b.end {
		b.markReceived()
		return nil
	}
	return b.Fill()
}

func (b *Body[R]) markReceived() {
	if !b.allReceived && b.reads.Arrived != nil {
		b.reads.Arrived()
	}
	b.allReceived = true
}

func (b *Body[R]) complete() error {
	b.markReceived()
	if b.reads.Complete != nil {
		if err := b.reads.Complete(); err != nil {
			return err
		}
	}
	return io.EOF
}

func (b *Body[R]) wrapError(err error) error {
	switch {
	case err == io.EOF && b.end >= 0:
		return fetch.ErrTruncated.Retryf("the file ended after %s: it shrank while it was read",
			progress(b.offset, b.end))
	case err != io.EOF && b.reads.Lost(err):
		return truncated("after "+progress(b.offset, b.end), err)
	}
	return err
}

// Grown returns the error for a file with bytes beyond its size. They may be the rest of what was read.
func Grown(size int64) error {
	return fetch.ErrChanged.Retryf("the file is longer than its size of %d bytes: it grew while it was read",
		size)
}

// Modified returns the error for a file whose modification time has changed since it was opened. What was
// read may be a mixture of two versions.
func Modified() error { return fetch.ErrChanged.Retryf("the file was modified while it was read") }

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
	onEnd := b.onEnd
	b.onEnd = nil
	b.mu.Unlock()
	if onEnd != nil {
		onEnd(err)
	}
	return err
}

// Close implements io.Closer. It discards the rest without waiting.
func (b *Body[R]) Close() error {
	b.finish(net.ErrClosed)
	return nil
}
