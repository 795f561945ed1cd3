package middleware

import (
	"context"
	"io"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/pace"
)

// SpeedLimit ends a body if less than bytesPerSecond arrive, on average, for the given time. The
// error is of class ErrNetwork and may be retried. Only time in which the client waits for the
// server counts, from the first byte of the body on: not the time before, which the timeouts of the
// client limit, and not that of a slow reader or writer. The attempts of a download count together.
//
// SpeedLimit must be the innermost middleware, so that the waits of others, such as RateLimit, do
// not count. The kernel does not move the bytes of these bodies, because it would be unknown whether
// it waits for the server or for the disk. Sessions are not limited. SpeedLimit panics if a limit is
// not positive.
func SpeedLimit(bytesPerSecond int64, during time.Duration) fetch.Middleware {
	if bytesPerSecond <= 0 || during <= 0 {
		panic("middleware: SpeedLimit of nothing")
	}
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			window := pace.WindowOf(ctx)
			ctx, cancel := context.WithCancel(pace.WithWindow(ctx, nil)) // not for exchanges of the driver
			resp, err := next.Open(ctx, req)
			switch {
			case err != nil:
				cancel()
				return nil, err
			case resp.Kind == fetch.KindSession:
				resp.Body = fetch.OnClose(resp.Body, cancel)
				return resp, nil
			}
			b := &timedBody{ReadCloser: resp.Body, rate: bytesPerSecond, during: during,
				window: window, cancel: cancel}
			resp.Body = b
			if source, ok := b.ReadCloser.(io.WriterTo); ok {
				resp.Body = &timedSource{b, source}
			}
			return resp, nil
		})
	}
}

// A timedBody measures the time that its reads wait for the server.
type timedBody struct {
	io.ReadCloser
	rate   int64 // bytes per second
	during time.Duration
	window *pace.Window
	cancel context.CancelFunc

	begun bool // content has arrived
	since time.Time
	timer *time.Timer // ends a read that waits for too long
	err   error
}

// wait records that a wait for the server begins.
func (b *timedBody) wait() {
	if b.since = time.Now(); !b.begun {
		return
	}
	rest := b.during - b.window.Waited()
	if b.timer == nil {
		b.timer = time.AfterFunc(rest, b.cancel)
	} else {
		b.timer.Reset(rest)
	}
}

// arrived records that a wait ended with n bytes and err, and returns err or, if the server is too
// slow, another one.
func (b *timedBody) arrived(n int, err error) error {
	if b.timer != nil {
		b.timer.Stop()
	}
	waited := time.Duration(0)
	if b.begun {
		waited = time.Since(b.since)
	}
	b.begun = b.begun || n > 0
	slow := b.window.Add(int64(n), waited, b.rate, b.during)
	if slow != nil && err != io.EOF {
		b.err = slow
		return slow
	}
	return err
}

func (b *timedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	b.wait()
	n, err := b.ReadCloser.Read(p)
	return n, b.arrived(n, err)
}

func (b *timedBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel()
	return err
}

type timedSource struct {
	*timedBody
	source io.WriterTo
}

// WriteTo does not count the time in w.
func (b *timedSource) WriteTo(w io.Writer) (int64, error) {
	if b.err != nil {
		return 0, b.err
	}
	var to io.Writer = &timedWriter{b.timedBody, w}
	if rf, ok := w.(io.ReaderFrom); ok {
		to = &timedReaderFrom{timedWriter{b.timedBody, w}, rf}
	}
	b.wait()
	n, err := b.source.WriteTo(to)
	switch {
	case b.err != nil:
		return n, b.err
	case err == nil:
		b.arrived(0, io.EOF)
		return n, nil
	}
	return n, b.arrived(0, err)
}

// A timedWriter is the destination of the bytes of a body.
type timedWriter struct {
	body *timedBody
	w    io.Writer
}

func (t *timedWriter) Write(p []byte) (int, error) {
	slow := t.body.arrived(len(p), nil)
	n, err := t.w.Write(p)
	if err == nil {
		err = slow
	}
	t.body.wait()
	return n, err
}

// A timedReaderFrom is a timedWriter whose w has a ReadFrom method. It times the reads of w.
type timedReaderFrom struct {
	timedWriter
	rf io.ReaderFrom
}

func (t *timedReaderFrom) ReadFrom(r io.Reader) (int64, error) {
	if err := t.body.arrived(0, nil); err != nil {
		return 0, err
	}
	defer t.body.wait()
	lr, ok := r.(*io.LimitedReader)
	if !ok {
		return t.rf.ReadFrom(&timedReader{t.body, r})
	}
	timed := &io.LimitedReader{R: &timedReader{t.body, lr.R}, N: lr.N} // w may rely on the limit
	n, err := t.rf.ReadFrom(timed)
	lr.N = timed.N
	return n, err
}

// A timedReader is the source of a ReadFrom.
type timedReader struct {
	body *timedBody
	r    io.Reader
}

func (t *timedReader) Read(p []byte) (int, error) {
	if t.body.err != nil {
		return 0, t.body.err
	}
	t.body.wait()
	n, err := t.r.Read(p)
	return n, t.body.arrived(n, err)
}
