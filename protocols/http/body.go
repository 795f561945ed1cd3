package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch"
)

// copyBuffer is larger than readBuffer, so that it is filled from the connection without another
// copy.
const copyBuffer = 256 << 10

// smallBuffer is used for bodies that are known to fit. A large buffer for each of many small files
// would waste memory.
const smallBuffer = 16 << 10

// A responseBody is a body as transferred, before decoding. Reads fail when the context of the
// exchange is done, or if nothing is received for the idle timeout.
type responseBody struct {
	ex        *exchange
	closings  int64 // value of opener.closings when the body began
	src       io.ReadCloser
	plain     *plainConn // the connection below src, if reads can be diverted; else nil
	http2     bool
	small     bool // it fits into smallBuffer
	idle      time.Duration
	timer     *time.Timer // nil if there is no idle timeout, or if the connection has it
	readSince time.Time   // the start of the last read, if there is an idle timeout
	failed    bool
	trailer   *trailerDigests // nil if the response announces none
	closed    atomic.Bool
	expired   atomic.Bool // the timer has ended the exchange
}

// newBody returns the body of ex. There can be only one.
func newBody(ex *exchange) *responseBody {
	b := &ex.body
	b.ex, b.closings, b.src = ex, ex.driver.closings.Load(), ex.resp.Body
	b.http2, b.idle = ex.resp.ProtoMajor == 2, ex.driver.env.Timeouts().Idle
	b.small = ex.resp.ContentLength >= 0 && ex.resp.ContentLength < smallBuffer
	if ex.resp.ContentLength >= spliceLeast {
		b.plain = ex.plain
	}
	switch {
	case ex.alone.lease != nil && ex.resp.ContentLength >= 0: // each byte is progress
		if ex.alone.body.exchange != nil {
			ex.plain.SetIdle(b.idle) // until the connection serves another request
		}
	case b.idle > 0:
		b.timer = time.AfterFunc(b.idle, b.expire)
		b.timer.Stop()
	}
	return b
}

func (b *responseBody) expire() {
	b.expired.Store(true)
	b.ex.stop()
}

func (b *responseBody) idleError() error {
	return &fetch.Error{Code: fetch.ErrNetwork, Retry: true,
		Err: fmt.Errorf("nothing received for %v", b.idle)}
}

func (b *responseBody) Read(p []byte) (int, error) {
	if b.idle > 0 {
		b.readSince = time.Now()
	}
	if b.timer != nil {
		b.timer.Reset(b.idle)
	}
	n, err := b.src.Read(p)
	if b.timer != nil {
		b.timer.Stop()
	}
	if err != nil {
		err = b.ended(err)
	}
	if b.trailer != nil {
		err = b.trailer.check(p[:n], err)
	}
	return n, err
}

func (b *responseBody) ended(err error) error {
	if err = b.explain(err); err != io.EOF {
		err = b.ex.target.clearRetry(err)
	}
	b.failed = err != io.EOF
	return err
}

var (
	copyBuffers  = sync.Pool{New: func() any { return new([copyBuffer]byte) }}
	smallBuffers = sync.Pool{New: func() any { return new([smallBuffer]byte) }}
)

// WriteTo implements io.WriterTo. It copies in large pieces, or splices in the kernel.
func (b *responseBody) WriteTo(w io.Writer) (int64, error) {
	if _, file := w.(io.ReaderFrom); file && b.plain != nil {
		return b.splice(w)
	}
	if src, ok := b.src.(*http1Body); ok {
		if p := src.received(); p != nil {
			n, err := w.Write(p)
			if err == nil {
				src.end()
			}
			return int64(n), err
		}
	}
	if b.small {
		buf := smallBuffers.Get().(*[smallBuffer]byte)
		defer smallBuffers.Put(buf)
		return b.copyTo(w, buf[:])
	}
	buf := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(buf)
	return b.copyTo(w, buf[:])
}

// copyTo is io.CopyBuffer without the methods of w and b that would call it again, or use no buffer.
func (b *responseBody) copyTo(w io.Writer, buf []byte) (written int64, err error) {
	for {
		n, err := b.Read(buf)
		if n > 0 {
			m, werr := w.Write(buf[:n])
			if written += int64(m); werr == nil && m < n {
				werr = io.ErrShortWrite
			}
			if werr != nil {
				return written, werr
			}
		}
		if err == io.EOF {
			return written, nil
		}
		if err != nil {
			return written, err
		}
	}
}

func (b *responseBody) explain(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return err // without the two allocations below
	}
	var (
		own    *fetch.Error
		netErr net.Error
	)
	switch {
	case b.expired.Load():
		return b.idleError()
	case b.ex.ctx.Err() != nil:
		return context.Cause(b.ex.ctx)
	case b.closed.Load(): // by another goroutine
		return fmt.Errorf("%w: %w", context.Canceled, err)
	case errors.As(err, &own): // from HTTP/3, which classifies its errors
		return err
	case isTrailer(err):
		return io.EOF
	case err.Error() == longTrailer && b.ex.in.emptyLine():
		return io.EOF // its lines end without CR
	case err.Error() == longTrailer && b.idle > 0 && time.Since(b.readSince) >= b.idle:
		return b.idleError() // net/http drops the error of the connection, which has the same timeout
	case errors.As(err, &netErr), errors.Is(err, net.ErrClosed):
		return err
	case err.Error() == longTrailer:
		return &fetch.Error{Code: fetch.ErrTruncated, Retry: true,
			Err: errors.New("the trailer of the body did not end")}
	case b.http2, // the stream or the connection was reset
		err.Error() == "http: unexpected EOF reading trailer":
		return &fetch.Error{Code: fetch.ErrTruncated, Retry: true, Err: err}
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Retry: true, Err: err}
}

// longTrailer is the text of net/http's error if no empty line with CR ends a trailer: the trailer is
// too long, its lines end without CR, or the connection ended.
const longTrailer = "http: suspiciously long trailer after chunked body"

// isTrailer reports whether err is about a malformed line in a trailer that has ended. The body is
// complete then, because the last chunk was received.
func isTrailer(err error) bool {
	var malformed textproto.ProtocolError
	return errors.As(err, &malformed)
}

func (b *responseBody) Close() error {
	b.closed.Store(true)
	err := b.src.Close()
	b.ex.stop()
	if b.http2 && b.ex.driver.closings.Load() != b.closings {
		time.AfterFunc(cleanup, b.ex.driver.closeIdle)
	}
	return err
}
