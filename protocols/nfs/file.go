package nfs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/wire"
)

// describe returns the metadata of a file. The file is the same as long as it has the same number,
// size and times.
func describe(t *target, a nfs3.Attr) fetch.Meta {
	meta := fetch.Meta{Size: -1, Name: fetch.SafeName(t.name()), ContentType: fetch.TypeByName(t.name())}
	meta.ModTime = a.MTime.Time()
	if a.Size <= math.MaxInt64 {
		meta.Size = int64(a.Size)
	}
	meta.ETag = strconv.Quote(fmt.Sprintf("%x-%x-%x.%x-%x.%x", a.FileID, a.Size,
		a.MTime.Seconds, a.MTime.Nanoseconds, a.CTime.Seconds, a.CTime.Nanoseconds))
	return meta
}

// same reports whether the file is in the state that the caller knows.
func same(known, now fetch.Validator) bool {
	if known.ETag != "" {
		return known.ETag == now.ETag
	}
	return now.ModTime.Equal(known.ModTime)
}

// file returns the response for anything but a directory.
func (d *driver) file(l *lease, t *target, at place) (*fetch.Response, error) {
	if !at.attr.IsRegular() {
		return nil, &fetch.Error{Code: fetch.ErrRefused, Err: fmt.Errorf("neither a file nor a directory, but %v", at.attr.FileMode())}
	}
	meta := describe(t, at.attr)
	known, want := t.req.IfChanged, t.req.Range
	if want.IsZero() && !known.IsZero() && same(known, meta.Validator) {
		return nil, &fetch.Error{Code: fetch.ErrNotModified, Err: errors.New("number, size and times are the same")}
	}
	resp := &fetch.Response{URL: t.url, Body: fetch.NoBody}
	if t.req.Op == fetch.OpStat {
		resp.Meta = meta
		return resp, nil
	}
	if meta.Size < 0 {
		return nil, violation("a file of %d bytes", at.attr.Size)
	}
	b := &body{lease: l, handle: at.handle, end: meta.Size, window: firstWindow, size: maxData}
	switch {
	case want.IsZero(), want.Offset < 0, want.Length < 0, !known.IsZero() && !same(known, meta.Validator):
	case want.Offset > meta.Size:
		return nil, &fetch.Error{Code: fetch.ErrRange, Err: fmt.Errorf("the file has %d bytes", meta.Size)}
	default:
		meta.Range, meta.Total = want, meta.Size
		meta.Size -= want.Offset
		if want.Length > 0 {
			meta.Size = min(meta.Size, want.Length)
		}
		b.at, b.ask, b.end = want.Offset, want.Offset, want.Offset+meta.Size
	}
	if trace := l.net.Trace(); trace != nil {
		trace(true, fmt.Sprintf("READ bytes %d to %d", b.at, b.end))
	}
	if b.at == b.end {
		// Whether it may be read is known only when it is.
		return resp, b.readNothing(&resp.Meta, meta)
	}
	// An answer says that the file may be read.
	first, err := b.next()
	if err != nil {
		return nil, err
	}
	b.Pieces, b.over = wire.NewPieces(first, b.next, b.state), l.Put
	resp.Meta, resp.Body = meta, b
	return resp, nil
}

// readNothing reads where there is nothing, and sets what is known of that.
func (b *body) readNothing(to *fetch.Meta, meta fetch.Meta) error {
	b.send(1)
	p := b.queue[0]
	r, err := b.lease.receive(nfs3.Read, p.xid)
	if err != nil {
		return err
	}
	data, err := b.data(r, p.size)
	if err != nil {
		return err
	}
	r.release()
	if b.end == 0 && len(data.Bytes) > 0 {
		return &fetch.Error{Code: fetch.ErrChanged, Retry: true, Err: errors.New("the file is said to be empty, and is not")}
	}
	*to = meta
	return nil
}

// The number of reads in flight. It grows with each one that is answered.
const (
	firstWindow = 4
	lastWindow  = 16
)

// A body reads the content of a file. It is complete when as many bytes have arrived as the server
// said the file has; if the file ends earlier, it is truncated. Reads are sent ahead of the reader.
// Close may be called concurrently with reads.
type body struct {
	wire.Pieces
	lease  *lease
	handle string
	ask    int64 // offset of the next read to send
	at     int64 // offset up to which data has been given to the reader
	end    int64
	size   int // how much is asked for at once: less than maxData if the server gives less
	window int
	queue  []piece // in file order
	reply  *reply  // what the reader has a piece of; nil before the first
	over   func()  // ends the use of the connection; nil before there is a response

	mu  sync.Mutex
	err error // sticky; io.EOF after the end
}

// A piece is a part of the file that has been requested.
type piece struct {
	size int
	xid  uint32
}

// fill sends further reads.
func (b *body) fill() {
	for len(b.queue) < b.window && b.ask < b.end {
		b.send(int(min(int64(b.size), b.end-b.ask)))
	}
}

// send queues a read of what follows what was asked for.
func (b *body) send(size int) {
	b.queue = append(b.queue, piece{size, b.read(b.ask, size)})
	b.ask += int64(size)
}

func (b *body) read(offset int64, size int) (xid uint32) {
	return b.lease.queue(nfs3.Read, nfs3.ReadArgs(b.handle, uint64(offset), uint32(size)))
}

// data returns what the reply to a read of so many bytes holds. If it fails, the reply is released.
func (b *body) data(r *reply, size int) (nfs3.Data, error) {
	var data nfs3.Data
	status := nfs3.Status(r.results.Uint32())
	if status == nfs3.OK {
		data = nfs3.ParseData(r.results, size)
	}
	err := r.results.Err()
	switch {
	case err != nil:
		b.lease.err = lost(err)
		err = b.lease.err
	case status != nfs3.OK:
		err = b.lease.refusal(nfs3.Read, status)
	}
	if err != nil {
		r.release()
	}
	return data, err
}

// next waits for the next part of the content. It returns io.EOF at the end. After an error the use
// of the connection has ended.
func (b *body) next() ([]byte, error) {
	if b.reply != nil {
		b.reply.release()
		b.reply = nil
	}
	if err := b.state(); err != nil {
		return nil, err
	}
	if b.at == b.end {
		return nil, b.finish(io.EOF)
	}
	b.fill()
	head := &b.queue[0]
	r, err := b.lease.receive(nfs3.Read, head.xid)
	if err != nil {
		return nil, b.finish(truncated(err, b.at, b.end))
	}
	data, err := b.data(r, head.size)
	if err != nil {
		return nil, b.finish(err)
	}
	n := len(data.Bytes)
	switch {
	case n == 0:
		r.release()
		if !data.EOF {
			b.lease.err = violation("no bytes in answer to a READ of %d", head.size)
			return nil, b.finish(b.lease.err)
		}
		return nil, b.finish(&fetch.Error{Code: fetch.ErrTruncated, Retry: true,
			Err: fmt.Errorf("the file ended after %s: it shrank while it was read", progress(b.at, b.end))})
	case n < head.size: // servers may send less; ask for the rest, and for less
		head.size -= n
		head.xid = b.read(b.at+int64(n), head.size)
		b.size = min(b.size, max(n, leastSize))
	default:
		b.queue = b.queue[1:]
		b.window = min(b.window+1, lastWindow)
	}
	b.at += int64(n)
	b.reply = r
	b.fill() // while the reader works on this
	if err := b.lease.flush(); err != nil {
		return nil, b.finish(truncated(err, b.at, b.end))
	}
	return data.Bytes, nil
}

// leastSize is the least that is asked for at once, in bytes: every server should have that much.
const leastSize = 4 << 10

// state returns the final error, or nil.
func (b *body) state() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// finish ends the body with err, unless it has ended already, and returns its final error. It is
// called by who reads.
func (b *body) finish(err error) error {
	b.mu.Lock()
	first := b.err == nil
	if first {
		b.err = err
	}
	err = b.err
	b.mu.Unlock()
	if first && b.over != nil {
		b.over()
	}
	return err
}

// Close implements io.Closer. What is unread is abandoned with the connection.
func (b *body) Close() error {
	b.mu.Lock()
	first := b.err == nil
	if first {
		b.err = net.ErrClosed
	}
	b.mu.Unlock()
	if first {
		b.lease.Discard()
	}
	return nil
}
