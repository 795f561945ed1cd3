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
			resp.Body = &timedBody{ReadCloser: resp.Body, rate: bytesPerSecond, during: during,
				window: window, cancel: cancel}
			return resp, nil
		})
	}
}

// A timedBody measures the time that its reads wait for the server. It has no WriteTo method, because
// the time in that is also the time of the writer.
type timedBody struct {
	io.ReadCloser
	rate   int64 // bytes per second
	during time.Duration
	window *pace.Window
	cancel context.CancelFunc

	begun bool        // content has arrived
	timer *time.Timer // ends a read that waits for too long
	err   error
}

func (b *timedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	waited := time.Duration(0)
	since := time.Now()
	if b.begun {
		b.startTimer()
	}
	n, err := b.ReadCloser.Read(p)
	arrived := int64(n)
	if b.begun {
		waited = time.Since(since)
		if !b.timer.Stop() {
			arrived = 0 // within the time: what came at its end does not undo the cancellation
		}
	}
	b.begun = b.begun || n > 0
	slow := b.window.Add(arrived, waited, b.rate, b.during)
	if slow != nil && err != io.EOF {
		b.err = slow
		return n, slow
	}
	return n, err
}

func (b *timedBody) startTimer() {
	rest := b.during - b.window.Waited()
	if b.timer == nil {
		b.timer = time.AfterFunc(rest, b.cancel)
	} else {
		b.timer.Reset(rest)
	}
}

func (b *timedBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel()
	return err
}
