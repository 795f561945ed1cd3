package nfs

import (
	"fmt"
	"io"
	"math"
	"net"
	"strconv"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// describe returns the metadata of a file. Its ETag consists of the file ID, size, and times.
func describe(t *target, a nfs3.Attr) fetch.Meta {
	meta := remotefile.Describe(t.name(), sizeOf(a), a.MTime.Time())
	meta.ETag = strconv.Quote(fmt.Sprintf("%x-%x-%x.%x-%x.%x", a.FileID, a.Size,
		a.MTime.Seconds, a.MTime.Nanoseconds, a.CTime.Seconds, a.CTime.Nanoseconds))
	return meta
}

func sizeOf(a nfs3.Attr) int64 {
	if a.Size > math.MaxInt64 {
		return -1
	}
	return int64(a.Size)
}

func (d *opener) file(l *lease, t *target, at node) (*fetch.Response, error) {
	if !at.attr.IsRegular() {
		return nil, remotefile.NotFile(at.attr.FileMode())
	}
	meta := describe(t, at.attr)
	if err := remotefile.Select(t.req, &meta); err != nil {
		return nil, err
	}
	if t.req.Op == fetch.OpStat {
		return &fetch.Response{Meta: meta, URL: t.url, Body: fetch.NoBody}, nil
	}
	if meta.Size < 0 {
		return nil, fetch.ErrProtocol.Errorf("invalid file size %d", at.attr.Size)
	}
	if trace := l.net.Line(); trace != nil {
		trace(true, fmt.Sprintf("READ bytes %d to %d", meta.Range.Offset, meta.Range.Offset+meta.Size))
	}
	r := &reads{lease: l, handle: at.handle, modified: at.attr.MTime, size: maxData}
	if meta.Size == 0 {
		return &fetch.Response{Meta: meta, URL: t.url, Body: fetch.NoBody}, r.checkEnd(meta.Range.Offset)
	}
	end := meta.Range.Offset + meta.Size
	complete := func() error {
		if r.atEnd || end < meta.Total {
			return nil
		}
		err := r.checkEnd(end)
		if fetch.CodeOf(err) != fetch.ErrChanged { // all bytes have arrived
			err = nil
		}
		return err
	}
	b := remotefile.NewBody(remotefile.Reads[uint32]{MinWindow: firstWindow, MaxWindow: lastWindow,
		Size: maxData,
		Send: r.send, Flush: l.flush, Receive: r.receive, Release: r.release,
		Complete: complete, Lost: remotefile.IsCut}, &meta)
	if err := b.First(); err != nil { // fails if the file may not be read
		return nil, err
	}
	return &fetch.Response{Meta: meta, URL: t.url, Body: b.Start(func(err error) {
		if err == net.ErrClosed {
			l.Discard()
		} else {
			l.Put()
		}
	})}, nil
}

// The number of READs in flight grows with each reply.
const (
	firstWindow = 4
	lastWindow  = 16
)

// minReadSize is the smallest count of a READ, in bytes. Every server should support it.
const minReadSize = 4 << 10

type reads struct {
	lease    *lease
	handle   string
	modified nfs3.Time // when the file was looked up
	size     int       // count of the next READ: at most maxData, less if the server returned less
	reply    *reply    // holds the data that the reader uses; nil if none
	atEnd    bool      // the last data ended where the file ends, as the server said
}

// checkEnd reads at the end of the file to check that the file may be read and has not grown.
func (r *reads) checkEnd(end int64) error {
	xid, requested, _ := r.send(end, 1, false)
	data, err := r.data(xid, requested)
	r.release()
	if err == nil && len(data.Bytes) > 0 {
		err = remotefile.Grown(end)
	}
	return err
}

func (r *reads) send(offset int64, size int, _ bool) (xid uint32, requested int, err error) {
	size = min(size, r.size)
	return r.lease.queue(nfs3.Read, nfs3.ReadArgs(r.handle, uint64(offset), uint32(size))), size, nil
}

func (r *reads) receive(xid uint32, requested int) ([]byte, error) {
	data, err := r.data(xid, requested)
	n := len(data.Bytes)
	r.atEnd = data.EOF
	switch {
	case err != nil:
		return nil, err
	case n == 0 && data.EOF:
		return nil, io.EOF
	case n == 0:
		r.lease.err = fetch.ErrProtocol.Errorf("no data in the reply to a READ of %d bytes", requested)
		return nil, r.lease.err
	case n < requested:
		r.size = min(r.size, max(n, minReadSize))
	}
	return data.Bytes, nil
}

// data waits for the data of a READ. The data is valid until release.
func (r *reads) data(xid uint32, requested int) (data nfs3.Data, err error) {
	if r.reply, err = r.lease.receive(nfs3.Read, xid); err != nil {
		return data, err
	}
	results := r.reply.results
	status := nfs3.Status(results.Uint32())
	if status == nfs3.OK {
		data = nfs3.ParseData(results, requested)
	}
	if err := results.Err(); err != nil {
		r.lease.err = connError(err)
		return data, r.lease.err
	}
	switch {
	case status != nfs3.OK:
		return data, r.lease.refusal(nfs3.Read, status)
	case data.Attr != nil && data.Attr.MTime != r.modified:
		return data, remotefile.Modified()
	}
	return data, nil
}

func (r *reads) release() {
	if r.reply != nil {
		r.reply.release()
		r.reply = nil
	}
}
