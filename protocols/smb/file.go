package smb

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/smb2"
)

// The number of reads in flight. It grows with each one that is answered.
const (
	firstWindow = 2
	lastWindow  = 8
)

// describe returns the metadata of a file.
func describe(t *target, f *file) driver.Meta {
	m := driver.Meta{Size: int64(min(f.EndOfFile, math.MaxInt64)), Name: driver.SafeName(t.name()), ContentType: driver.TypeByName(t.name())}
	m.ModTime = f.modTime()
	if !m.ModTime.IsZero() {
		m.ETag = strconv.Quote(fmt.Sprintf("%x-%x", f.EndOfFile, f.LastWriteTime))
	}
	return m
}

// same reports whether the file is in the state that the caller knows.
func same(known, now driver.Validator) bool {
	if known.ETag != "" {
		return known.ETag == now.ETag
	}
	return !now.ModTime.IsZero() && now.ModTime.Equal(known.ModTime)
}

// file returns the response for a file.
func (d *opener) file(l lease, t *target, f *file) (*driver.Response, error) {
	meta := describe(t, f)
	known, want := t.req.IfChanged, t.req.Range
	resp := &driver.Response{Meta: meta, URL: t.url, Body: driver.NoBody}
	b := &fileBody{lease: l, file: f, end: meta.Size, window: firstWindow}
	var refused error
	switch {
	case want.IsZero() && !known.IsZero() && same(known, meta.Validator):
		refused = &driver.Error{Code: driver.ErrNotModified, Err: errors.New("size and time are the same")}
	case t.req.Op == driver.OpStat:
		return resp, l.Conn.close(f)
	case want.IsZero(), want.Offset < 0, want.Length < 0, !known.IsZero() && !same(known, meta.Validator), meta.Size == 0 && want.Offset == 0:
	case want.Offset > meta.Size:
		refused = &driver.Error{Code: driver.ErrRange, Err: fmt.Errorf("the file has %d bytes", meta.Size)}
	default:
		resp.Range, resp.Total = want, meta.Size
		resp.Size -= want.Offset
		if want.Length > 0 {
			resp.Size = min(resp.Size, want.Length)
		}
		b.at = want.Offset
		b.ask, b.end = b.at, b.at+resp.Size
	}
	if refused != nil {
		return nil, errors.Join(refused, l.Conn.close(f))
	}
	if err := b.fill(); err != nil {
		return nil, err
	}
	b.Pieces = wire.NewPieces(nil, b.next, func() error { return nil })
	resp.Body = b
	return resp, nil
}

// A fileBody reads the content of a file. It is complete when as many bytes have arrived as the
// server said the file has; if the file ends earlier, it is truncated. Reads are sent ahead of the
// reader, who alone receives the answers.
type fileBody struct {
	wire.Pieces
	lease   lease
	file    *file
	ask     int64 // offset of the next read to send
	at      int64 // offset up to which data has been been given to the reader
	end     int64
	window  int
	queue   []*piece // in file order
	current message  // what the reader has a piece of
	err     error
	closed  atomic.Bool
}

// A piece is a part of the file that has been requested.
type piece struct {
	offset int64
	size   int
	id     uint64
	answer message // MessageID is that of the request once it has come
	come   bool
}

// fill sends further reads, as the server's credit allows.
func (b *fileBody) fill() error {
	s := b.lease.Conn
	for len(b.queue) < b.window && b.ask < b.end {
		size := int(min(int64(s.read), b.end-b.ask))
		if s.large {
			size = min(size, s.credits*maxOther)
		}
		if s.credits == 0 || len(b.queue) > 0 && s.charge(size) >= s.credits {
			return nil // one credit is left to close the file
		}
		p := &piece{offset: b.ask, size: size}
		if err := b.send(p); err != nil {
			return err
		}
		b.queue = append(b.queue, p)
		b.ask += int64(size)
	}
	return nil
}

// send asks for a piece.
func (b *fileBody) send(p *piece) (err error) {
	p.come = false
	p.id, err = b.lease.Conn.send(smb2.Read, p.size,
		&smb2.ReadRequest{Padding: smb2.ReadDataOffset, Length: uint32(p.size), Offset: uint64(p.offset), FileID: b.file.FileID}, nil)
	return err
}

// next waits for the next part of the content. It returns io.EOF at the end.
func (b *fileBody) next() ([]byte, error) {
	s := b.lease.Conn
	s.recycle(b.current)
	b.current = message{}
	switch {
	case b.err != nil:
		return nil, b.err
	case b.at == b.end:
		return nil, b.finish(s.close(b.file))
	}
	if err := b.fill(); err != nil {
		return nil, b.finish(truncated(err, b.at, b.end))
	}
	if len(b.queue) == 0 {
		return nil, b.finish(s.fail(violation("the server grants no credit")))
	}
	head := b.queue[0]
	for !head.come {
		m, err := s.receive()
		if err != nil {
			return nil, b.finish(truncated(err, b.at, b.end))
		}
		for _, p := range b.queue {
			if p.id == m.MessageID && !p.come {
				p.answer, p.come = m, true
			}
		}
	}
	data, err := b.content(head)
	if err != nil {
		return nil, b.finish(err)
	}
	b.at += int64(len(data))
	b.current = head.answer
	if len(data) < head.size { // servers may send less; ask for the rest
		head.offset, head.size = head.offset+int64(len(data)), head.size-len(data)
		if err := b.send(head); err != nil {
			return nil, b.finish(truncated(err, b.at, b.end))
		}
		return data, nil
	}
	b.queue = b.queue[1:]
	b.window = min(b.window+1, lastWindow)
	return data, nil
}

// content returns what the answer for a piece has.
func (b *fileBody) content(p *piece) ([]byte, error) {
	s, m := b.lease.Conn, p.answer
	if m.Status == smb2.StatusEndOfFile {
		return nil, &driver.Error{Code: driver.ErrTruncated, Retry: true,
			Err: fmt.Errorf("the file ended after %d of %d bytes: it shrank while it was read", b.at, b.end)}
	}
	if err := s.judge(m); err != nil {
		return nil, err
	}
	data, err := s.parse(m, &smb2.ReadResponse{})
	if err == nil && (len(data) == 0 || len(data) > p.size) {
		err = s.fail(violation("%d bytes in answer to a READ of %d", len(data), p.size))
	}
	return data, err
}

// finish ends the body with err; nil stands for io.EOF.
func (b *fileBody) finish(err error) error {
	if err == nil {
		err = io.EOF
	}
	if b.err == nil {
		b.err = err
		b.giveBack()
	}
	return b.err
}

// giveBack gives the session back, once.
func (b *fileBody) giveBack() {
	if !b.closed.Swap(true) {
		b.lease.Put()
	}
}

// Close implements io.Closer. If answers are under way, the connection ends.
func (b *fileBody) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.lease.Discard()
	return nil
}
