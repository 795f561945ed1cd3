package sftp

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/filexfer"
	"github.com/urlget/urlget/internal/wire"
)

// describeFile returns the metadata of a file with the given attributes. Without size and time,
// there is no way to tell whether it has changed.
func describeFile(t *target, info filexfer.Attrs) fetch.Meta {
	meta := fetch.Meta{Size: -1, Name: fetch.SafeName(t.name()), ContentType: fetch.TypeByName(t.name())}
	meta.ModTime = info.ModTime()
	if info.Has(filexfer.HasSize) && info.Size <= math.MaxInt64 {
		meta.Size = int64(info.Size)
		if !meta.ModTime.IsZero() {
			meta.ETag = strconv.Quote(fmt.Sprintf("%x-%x", info.Size, info.MTime))
		}
	}
	return meta
}

// same reports whether the file is in the state that the caller knows.
func same(known fetch.Validator, now fetch.Validator) bool {
	if known.ETag != "" {
		return known.ETag == now.ETag
	}
	return !now.ModTime.IsZero() && now.ModTime.Equal(known.ModTime)
}

// file returns the response for anything but a directory.
func (d *driver) file(f *flight, t *target, info filexfer.Attrs) (*fetch.Response, error) {
	meta := describeFile(t, info)
	if mode := info.FileMode(); info.Has(filexfer.HasMode) && !mode.IsRegular() {
		// Opening a pipe might block until there is a writer.
		return nil, &fetch.Error{Code: fetch.ErrRefused, Err: fmt.Errorf("neither a file nor a directory, but %v", mode)}
	}
	known := t.req.IfChanged
	if t.req.Range.IsZero() && !known.IsZero() && same(known, meta.Validator) {
		return nil, &fetch.Error{Code: fetch.ErrNotModified, Err: errors.New("size and time are the same")}
	}
	if t.req.Op == fetch.OpStat {
		return &fetch.Response{Meta: meta, URL: t.url, Body: fetch.NoBody}, nil
	}
	handle, err := f.openHandle(filexfer.TypeOpen, t.path, filexfer.OpenRead, filexfer.Attrs{})
	if err != nil {
		return nil, err
	}
	// The first reads are sent before it is known whether the file has been replaced.
	again := f.send(filexfer.TypeFstat, handle)
	b, err := newFileBody(f, handle, t.req, &meta)
	if err != nil {
		return nil, err
	}
	b.fill()
	if now, err := f.attrs(f.expect(filexfer.TypeAttrs, again)); err == nil {
		if meta2 := describeFile(t, now); meta2.Size != describeFile(t, info).Size || meta2.Validator != meta.Validator {
			meta = meta2
			b.drop()
			if b, err = newFileBody(f, handle, t.req, &meta); err != nil {
				return nil, err
			}
			b.fill()
		}
	} else if fetch.CodeOf(err) != fetch.ErrRefused && fetch.CodeOf(err) != fetch.ErrServer {
		return nil, err
	}
	var first []byte
	if b.end < 0 {
		// The file is empty, or one that the system generates when it is read.
		switch first, err = b.next(); err {
		case nil:
			meta.Size, meta.Validator = -1, fetch.Validator{}
		case io.EOF:
			meta.Size = 0
		default:
			return nil, err
		}
	}
	b.Pieces = wire.NewPieces(first, b.next, b.closed)
	if f.trace != nil {
		f.trace(true, "READ from byte "+strconv.FormatInt(meta.Range.Offset, 10))
	}
	return &fetch.Response{Meta: meta, URL: t.url, Body: b}, nil
}

// newFileBody returns the body for the part of the file that is requested.
func newFileBody(f *flight, handle string, req *fetch.Request, meta *fetch.Meta) (*fileBody, error) {
	b := &fileBody{flight: f, handle: handle, end: meta.Size, window: firstWindow}
	want, known := req.Range, req.IfChanged
	switch {
	case meta.Size <= 0:
		b.end, b.window = -1, 1
		if meta.Size < 0 || want.Offset == 0 {
			return b, nil // all of it
		}
		fallthrough
	case want.Offset > meta.Size:
		return nil, &fetch.Error{Code: fetch.ErrRange, Err: fmt.Errorf("the file has %d bytes", meta.Size)}
	case want.IsZero(), want.Offset < 0, want.Length < 0, !known.IsZero() && !same(known, meta.Validator):
	default:
		meta.Range, meta.Total = want, meta.Size
		meta.Size -= want.Offset
		if want.Length > 0 {
			meta.Size = min(meta.Size, want.Length)
		}
		b.at = want.Offset
		b.ask, b.end = b.at, b.at+meta.Size
	}
	return b, nil
}

// The number of reads in flight. It grows with each one that is answered.
const (
	firstWindow = 8
	lastWindow  = 64
)

// A fileBody reads the content of a file. It is complete when as many bytes have arrived as the
// server said the file has; if the file ends earlier, it is truncated. Reads are sent ahead of the
// reader. Close may be called concurrently with reads.
type fileBody struct {
	wire.Pieces
	flight *flight
	handle string
	ask    int64 // offset of the next read to send
	at     int64 // offset up to which data has been been given to the reader
	end    int64 // -1 if only the server knows the end
	window int
	queue  []piece         // in file order
	answer answer          // what the reader has a piece of
	told   <-chan struct{} // closed when CLOSE has been sent

	mu  sync.Mutex
	err error // sticky; io.EOF after the end
}

// A piece is a part of the file that has been requested.
type piece struct {
	size int
	req  *request
}

// fill sends further reads.
func (b *fileBody) fill() {
	for len(b.queue) < b.window && (b.end < 0 || b.ask < b.end) {
		size := filexfer.MaxData
		if b.end >= 0 {
			size = int(min(int64(size), b.end-b.ask))
		}
		b.queue = append(b.queue, piece{size, b.read(b.ask, size)})
		b.ask += int64(size)
	}
}

func (b *fileBody) read(offset int64, size int) *request {
	return b.flight.send(filexfer.TypeRead, b.handle, uint64(offset), uint32(size))
}

// drop abandons the reads, because another body takes over.
func (b *fileBody) drop() {
	for _, p := range b.queue {
		b.flight.session.abandon(p.req)
	}
}

// next waits for the next part of the content. It returns io.EOF at the end.
func (b *fileBody) next() ([]byte, error) {
	b.answer.release()
	b.answer = answer{}
	if err := b.state(); err != nil {
		return nil, err
	}
	if b.end >= 0 && b.at == b.end {
		// CLOSE is under way. The connection is free once it has been sent.
		if b.told == nil {
			b.told = b.flight.closeHandle()
		}
		if b.told != nil {
			select {
			case <-b.told:
			case <-b.flight.session.dead:
			case <-b.flight.stop:
			case <-b.flight.ctx.Done():
			}
		}
		return nil, b.finish(io.EOF)
	}
	b.fill()
	head := &b.queue[0]
	a, err := b.flight.wait(head.req)
	switch {
	case err != nil:
		return nil, b.finish(truncated(err, b.at, b.end))
	case a.Type != filexfer.TypeData:
		err := b.flight.refused(head.req, a)
		atEnd := a.Type == filexfer.TypeStatus && filexfer.Code(a.Fields().Uint32()) == filexfer.CodeEOF
		a.release()
		switch {
		case atEnd && b.end < 0:
			err = io.EOF
		case atEnd:
			err = &fetch.Error{Code: fetch.ErrTruncated, Retry: true,
				Err: fmt.Errorf("the file ended after %s: it shrank while it was read", progress(b.at, b.end))}
		}
		return nil, b.finish(err)
	}
	fields := a.Fields()
	data := fields.Bytes()
	switch n := len(data); {
	case fields.Err() != nil || n == 0 || n > head.size:
		a.release()
		return nil, b.finish(violation("%d bytes in answer to a READ of %d", n, head.size))
	case b.end < 0:
		b.queue = b.queue[1:]
		b.ask = b.at + int64(n)
	case n < head.size: // servers may send less; ask for the rest
		head.size -= n
		head.req = b.read(b.at+int64(n), head.size)
	default:
		b.queue = b.queue[1:]
		b.window = min(b.window+1, lastWindow)
	}
	b.at += int64(len(data))
	b.answer = a
	switch {
	case b.at == b.end:
		b.told = b.flight.closeHandle()
	case b.end >= 0:
		b.fill()
	}
	return data, nil
}

// state returns the final error, or nil.
func (b *fileBody) state() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// closed returns an error if Close was called.
func (b *fileBody) closed() error {
	if err := b.state(); err != io.EOF {
		return err
	}
	return nil
}

// finish ends the body with err, unless it has ended already, and returns its final error.
func (b *fileBody) finish(err error) error {
	b.mu.Lock()
	if b.err == nil {
		b.err = err
	}
	err = b.err
	b.mu.Unlock()
	b.flight.end()
	return err
}

// Close implements io.Closer.
func (b *fileBody) Close() error {
	b.finish(net.ErrClosed)
	return nil
}
