package smb

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/smb2"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// The minimum and maximum number of reads in flight. The number grows with each response.
const (
	minWindow = 2
	maxWindow = 8
)

func describe(t *target, f *file) fetch.Meta {
	m := remotefile.Describe(t.name(), int64(min(f.EndOfFile, math.MaxInt64)), f.modTime())
	if !m.ModTime.IsZero() {
		m.ETag = strconv.Quote(fmt.Sprintf("%x-%x", f.EndOfFile, f.LastWriteTime))
	}
	return m
}

func (d *opener) file(l lease, t *target, f *file) (*fetch.Response, error) {
	meta := describe(t, f)
	if err := remotefile.Select(t.req, &meta); err != nil {
		return nil, errors.Join(err, l.Conn.close(f))
	}
	if t.req.Op == fetch.OpStat {
		return &fetch.Response{Meta: meta, URL: t.url, Body: fetch.NoBody}, l.Conn.close(f)
	}
	r := &reads{session: l.Conn, file: f, early: make(map[uint64]message)}
	b := remotefile.NewBody(remotefile.Reads[uint64]{MinWindow: minWindow, MaxWindow: maxWindow,
		Size: int(l.Conn.readSize),
		Send: r.send, Receive: r.receive, Release: r.release,
		Complete: func() error {
			return l.Conn.closeRead(f, meta.Range.Offset+meta.Size >= meta.Total)
		}}, &meta)
	if err := b.Fill(); err != nil {
		return nil, err
	}
	return &fetch.Response{Meta: meta, URL: t.url, Body: b.Start(func(err error) {
		if err == net.ErrClosed { // responses may be outstanding
			l.Discard()
		} else {
			l.Put()
		}
	})}, nil
}

// reads performs the reads of a body. Only the reader of the body receives responses.
type reads struct {
	session *session
	file    *file
	early   map[uint64]message // responses that arrived out of order
	current message            // holds the data returned last
}

// send requests as much as the credits allow. It leaves one credit for CLOSE.
func (r *reads) send(offset int64, size int, ahead bool) (id uint64, asked int, err error) {
	s := r.session
	if s.multiCredit {
		size = min(size, max(s.credits, 1)*creditSize)
	}
	switch {
	case ahead && (s.credits == 0 || s.charge(size) >= s.credits):
		return 0, 0, nil
	case s.credits == 0 && len(s.outstanding) == 0:
		return 0, 0, s.violation("the server granted no credits")
	}
	id, err = s.send(smb2.Read, size,
		&smb2.ReadRequest{Padding: smb2.ReadDataOffset, Length: uint32(size),
			Offset: uint64(offset), FileID: r.file.FileID}, nil)
	return id, size, err
}

func (r *reads) receive(id uint64, asked int) ([]byte, error) {
	s := r.session
	for {
		m, ok := r.early[id]
		if !ok {
			var err error
			if m, err = s.receive(); err != nil {
				return nil, err
			}
			r.early[m.MessageID] = m
			continue
		}
		delete(r.early, id)
		r.current = m
		if m.Status == smb2.StatusEndOfFile {
			return nil, io.EOF
		}
		if err := s.checkStatus(m); err != nil {
			return nil, err
		}
		data, err := s.parse(m, &smb2.ReadResponse{})
		if err == nil && (len(data) == 0 || len(data) > asked) {
			err = s.violation("%d bytes in response to a READ of %d", len(data), asked)
		}
		return data, err
	}
}

func (r *reads) release() {
	r.session.recycle(r.current)
	r.current = message{}
}
