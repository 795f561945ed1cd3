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
	driver     *opener
	closings   int64 // value of opener.closings when the body began
	ctx        context.Context
	cancel     context.CancelCauseFunc
	src        io.ReadCloser
	plain      *plainConn // the connection below src, if reads can be diverted; else nil
	in         *incoming  // nil with HTTP/2
	http2      bool
	small      bool // it fits into smallBuffer
	idle       time.Duration
	timer      *time.Timer
	readSince  time.Time         // the start of the last read, if there is an idle timeout
	clearRetry func(error) error // see target.clearRetry
	failed     bool
	closed     atomic.Bool
}

func newBody(ex *exchange) *responseBody {
	b := &responseBody{
		driver: ex.driver, closings: ex.driver.closings.Load(), ctx: ex.ctx, cancel: ex.cancel,
		src: ex.resp.Body, in: ex.in, http2: ex.resp.ProtoMajor == 2,
		small: ex.resp.ContentLength >= 0 && ex.resp.ContentLength < smallBuffer,
		idle:  ex.driver.env.Timeouts().Idle, clearRetry: ex.target.clearRetry,
	}
	if ex.resp.ContentLength >= spliceLeast {
		b.plain = ex.plain
	}
	if b.idle > 0 {
		b.timer = time.AfterFunc(b.idle, b.expire)
		b.timer.Stop()
	}
	return b
}

func (b *responseBody) expire() { b.cancel(b.idleError()) }

func (b *responseBody) idleError() error {
	return &fetch.Error{Code: fetch.ErrNetwork, Retry: true,
		Err: fmt.Errorf("nothing received for %v", b.idle)}
}

func (b *responseBody) Read(p []byte) (int, error) {
	if b.timer != nil {
		b.readSince = time.Now()
		b.timer.Reset(b.idle)
	}
	n, err := b.src.Read(p)
	if b.timer != nil {
		b.timer.Stop()
	}
	if err != nil {
		err = b.ended(err)
	}
	return n, err
}

func (b *responseBody) ended(err error) error {
	if err = b.explain(err); err != io.EOF {
		err = b.clearRetry(err)
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
	if b.small {
		buf := smallBuffers.Get().(*[smallBuffer]byte)
		defer smallBuffers.Put(buf)
		return b.copyTo(w, buf[:])
	}
	buf := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(buf)
	return b.copyTo(w, buf[:])
}

func (b *responseBody) copyTo(w io.Writer, buf []byte) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{b}, buf)
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
	case b.ctx.Err() != nil:
		return context.Cause(b.ctx)
	case b.closed.Load(): // by another goroutine
		return fmt.Errorf("%w: %w", context.Canceled, err)
	case errors.As(err, &own): // from HTTP/3, which classifies its errors
		return err
	case isTrailer(err):
		return io.EOF
	case err.Error() == longTrailer && b.in.emptyLine():
		return io.EOF // its lines end without CR
	case err.Error() == longTrailer && b.timer != nil && time.Since(b.readSince) >= b.idle:
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
	b.cancel(nil)
	if b.http2 && b.driver.closings.Load() != b.closings {
		time.AfterFunc(cleanup, b.driver.closeIdle)
	}
	return err
}
