package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/urlget/urlget/fetch/uri"
)

// guard puts the client's checks around what a driver delivers.
func (c *Client) guard(ctx context.Context, resp *Response, op string) {
	url := resp.URL
	if rw, ok := resp.Body.(io.ReadWriteCloser); ok && resp.Kind == KindSession {
		resp.Body = rw // sessions have no end to check
		return
	}
	limit := c.policy.MaxSize
	b := &body{ctx: ctx, inner: resp.Body, url: url, op: op, want: resp.Size, limit: limit}
	switch {
	case op == OpStat.String():
		b.want = -1
	case limit > 0 && b.want > limit:
		b.err = b.finish(b.tooLarge())
	}
	resp.Body = b
	if resp.Entries != nil {
		resp.Entries = guardEntries(ctx, resp.Entries, url)
	}
}

// A body is what callers read: it counts, and turns every failure into an
// *Error that stays.
type body struct {
	ctx   context.Context
	inner io.ReadCloser
	url   uri.URI
	op    string
	want  int64 // size the server declared; -1 if unknown
	limit int64 // 0 for none
	got   int64
	err   error // sticky; io.EOF after the end
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.inner.Read(p)
	b.got += int64(n)
	if b.limit > 0 && b.got > b.limit {
		n -= int(b.got - b.limit)
		err = b.tooLarge()
	}
	if err != nil {
		b.err = b.finish(err)
	}
	return n, b.err
}

// WriteTo passes on a driver's own WriteTo, which may let the kernel move the
// octets. io.Copy finds it.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	switch {
	case b.err == io.EOF:
		return 0, nil
	case b.err != nil:
		return 0, b.err
	}
	inner, ok := b.inner.(io.WriterTo)
	if !ok || (b.limit > 0 && b.want < 0) {
		return io.CopyBuffer(w, struct{ io.Reader }{b}, make([]byte, 128<<10))
	}
	sink := &sink{w: w}
	n, err := inner.WriteTo(sink.writer())
	b.got += n
	if sink.err != nil {
		b.err = sink.err // the caller's own trouble, not the transfer's
		return n, sink.err
	}
	if err == nil {
		err = io.EOF
	}
	if b.err = b.finish(err); b.err == io.EOF {
		return n, nil
	}
	return n, b.err
}

func (b *body) tooLarge() error {
	return &Error{Code: ErrTooLarge, Err: fmt.Errorf("more than %d octets", b.limit)}
}

// finish judges the end of the stream.
func (b *body) finish(err error) error {
	if err == io.EOF {
		if b.want < 0 || b.got == b.want {
			return io.EOF
		}
		code := ErrTruncated
		if b.got > b.want {
			code = ErrProtocol
		}
		err = &Error{Code: code, Retry: true,
			Err: fmt.Errorf("%d octets came, %d were announced", b.got, b.want)}
	}
	e := asError("read", b.url, contextError(b.ctx, err))
	if e.Code == ErrTLS {
		// What came before was authentic, and what came now was not: a
		// flipped bit, which need not happen again.
		e.Retry = true
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && (e.Code == ErrNetwork || e.Code == "") {
		e.Code, e.Retry = ErrTruncated, true
		if e.Err == io.ErrUnexpectedEOF {
			e.Err = fmt.Errorf("the connection ended after %s: %w", b.progress(), err)
		}
	}
	return e
}

// progress says how far the stream came.
func (b *body) progress() string {
	if b.want < 0 {
		return fmt.Sprintf("%d octets", b.got)
	}
	return fmt.Sprintf("%d of %d octets", b.got, b.want)
}

func (b *body) Close() error { return b.inner.Close() }

// A sink tells errors of the destination from errors of the source.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// writer returns s, with ReadFrom if the destination has it: an *os.File
// splices.
func (s *sink) writer() io.Writer {
	if rf, ok := s.w.(io.ReaderFrom); ok {
		return &splicingSink{sink: s, rf: rf}
	}
	return s
}

type splicingSink struct {
	*sink
	rf io.ReaderFrom
}

// ReadFrom cannot tell whose error it met, so the source's are left alone:
// a destination's error is a *fs.PathError or comes back from Write.
func (s *splicingSink) ReadFrom(r io.Reader) (int64, error) {
	return s.rf.ReadFrom(r)
}

func guardEntries(ctx context.Context, seq iter.Seq2[Entry, error], u uri.URI) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range seq {
			if err != nil {
				b := &body{ctx: ctx, url: u, want: -1}
				yield(Entry{}, b.finish(err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
