package rsync

import (
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/rsync"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// maxPiece limits the bytes that are passed on at once. It is the size of most tokens.
const maxPiece = 32 << 10

func describe(t *target, i rsync.Item) fetch.Meta {
	meta := remotefile.Describe(t.name(), i.Size, i.ModTime)
	meta.ETag = strconv.Quote(fmt.Sprintf("%x-%x", i.Size, i.ModTime.UnixNano()))
	return meta
}

func (s *session) file(t *target, i rsync.Item) (*fetch.Response, error) {
	if !i.IsFile() {
		s.leave()
		return nil, remotefile.NotFile(i.FileMode())
	}
	meta := describe(t, i)
	err := remotefile.NotModified(t.req, remotefile.Same(t.req.IfChanged, meta.Validator))
	if err != nil || t.req.Op == fetch.OpStat {
		s.leave()
		return &fetch.Response{Meta: meta, URL: t.url, Body: fetch.NoBody}, err
	}
	r := &reads{session: s, left: i.Size, sum: rsync.NewSum(s.protocol, s.seed)}
	if err := r.begin(); err != nil {
		return nil, err
	}
	if i.Size == 0 {
		err := r.verify()
		if err == nil {
			s.awaitEnd()
		}
		return &fetch.Response{Meta: meta, URL: t.url, Body: fetch.NoBody}, err
	}
	b := remotefile.NewBody(remotefile.Reads[struct{}]{MinWindow: 1, MaxWindow: 1, Size: maxPiece,
		Send: r.send, Receive: r.receive, Release: func() {}, Lost: remotefile.IsCut,
		Complete: func() error { s.awaitEnd(); return nil }}, &meta)
	if err := b.First(); err != nil {
		return nil, err
	}
	return &fetch.Response{Meta: meta, URL: t.url, Body: b.Start(func(error) { s.close() })}, nil
}

// The content of a file consists of tokens. Each has a size and bytes.
type reads struct {
	*session
	left  int64 // bytes of the file
	token int64 // bytes of the current token
	sum   hash.Hash
	buf   [maxPiece]byte
}

// begin requests the file and, because nothing follows, the end of the session. It waits for the
// beginning of the response.
func (r *reads) begin() error {
	defer r.replyTimeout()()
	if err := r.write(r.appendEnd(rsync.AppendFile(nil, r.protocol))); err != nil {
		return err
	}
	if r.in.File() {
		return nil
	}
	if err := r.in.Err(); err != nil {
		return r.fail(err)
	}
	return r.complaintError() // before version 30, the end of the phase means that the file is not sent
}

func (r *reads) send(_ int64, size int, _ bool) (struct{}, int, error) { return struct{}{}, size, nil }

func (r *reads) receive(_ struct{}, requested int) ([]byte, error) {
	if r.token == 0 {
		if err := r.next(); err != nil {
			return nil, err
		}
	}
	if r.token == 0 {
		return nil, io.EOF
	}
	done := r.conn.Piece() // messages that keep the connection alive are no progress
	n, err := io.ReadAtLeast(r.in, r.buf[:min(int64(requested), r.token)], 1)
	done()
	if err != nil {
		return nil, r.fail(err)
	}
	data := r.buf[:n]
	r.sum.Write(data)
	r.token -= int64(n)
	if r.left -= int64(n); r.left == 0 { // the last bytes are passed on only if the file is complete
		if err := r.verify(); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// next reads the size of the next token, which is 0 at the end.
func (r *reads) next() error {
	defer r.conn.Piece()()
	r.token = int64(r.in.Int())
	switch err := r.in.Err(); {
	case err != nil:
		return r.fail(err)
	case r.token < 0:
		return fetch.ErrProtocol.Errorf("block %d of a file that the client does not have", -(r.token + 1))
	case r.token > r.left:
		return fetch.ErrChanged.Retryf(
			"the file has more bytes than in the file list: it grew while it was read")
	}
	return nil
}

// verify reads the end of the file and its checksum. Servers that could not read a part of the file send a
// wrong one.
func (r *reads) verify() error {
	if r.token == 0 {
		if err := r.next(); err != nil {
			return err
		}
	}
	defer r.conn.Piece()()
	sum := r.in.Sum()
	if err := r.in.Err(); err != nil {
		return r.fail(err)
	}
	if own := [rsync.SumSize]byte(r.sum.Sum(nil)); own != sum {
		return fetch.ErrChecksum.Errorf("got %x, not %x as sent by the server", own, sum)
	}
	return nil
}
