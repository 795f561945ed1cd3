package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// copyBuffer is larger than readBuffer, so that it is filled from the
// connection without a copy in between.
const copyBuffer = 256 << 10

// A body is the content as it was sent. It ends with the exchange's context,
// and if nothing comes for the idle time.
type body struct {
	driver   *driver
	closings int64 // of the driver, when the body began
	ctx      context.Context
	cancel   context.CancelCauseFunc
	src      io.ReadCloser
	http2    bool
	idle     time.Duration
	timer    *time.Timer
	failed   bool
}

func newBody(ex *exchange) *body {
	b := &body{driver: ex.driver, closings: ex.driver.closings.Load(), ctx: ex.ctx, cancel: ex.cancel,
		src: ex.resp.Body, http2: ex.resp.ProtoMajor == 2, idle: ex.driver.env.Timeouts().Idle}
	if b.idle > 0 {
		b.timer = time.AfterFunc(b.idle, b.starve)
		b.timer.Stop()
	}
	return b
}

// starve ends a body that nothing came of for the idle time.
func (b *body) starve() {
	b.cancel(&fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: fmt.Errorf("nothing received for %v", b.idle)})
}

func (b *body) Read(p []byte) (int, error) {
	if b.timer != nil {
		b.timer.Reset(b.idle)
	}
	n, err := b.src.Read(p)
	if b.timer != nil {
		b.timer.Stop()
	}
	if err != nil {
		err = b.explain(err)
		b.failed = err != io.EOF
	}
	return n, err
}

var copyBuffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// WriteTo copies in large pieces.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	buf := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{b}, buf[:])
}

// explain classifies what net/http says of a broken body. All of it is worth
// another try, as GET has no effect.
func (b *body) explain(err error) error {
	var netErr net.Error
	switch {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case b.ctx.Err() != nil:
		return context.Cause(b.ctx)
	case errors.As(err, &netErr), errors.Is(err, net.ErrClosed):
		return err
	case b.http2, // the stream or the connection was reset
		err.Error() == "http: unexpected EOF reading trailer":
		return &fetch.Error{Code: fetch.ErrTruncated, Retry: true, Err: err}
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Retry: true, Err: err}
}

func (b *body) Close() error {
	err := b.src.Close()
	b.cancel(nil)
	if b.http2 && b.driver.closings.Load() != b.closings {
		time.AfterFunc(cleanup, b.driver.closeIdle)
	}
	return err
}
