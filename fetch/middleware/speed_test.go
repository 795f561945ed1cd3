package middleware_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetch/retry"
)

// A drip is a body that sends size bytes of piece bytes each, every after the one before. A negative
// size means no end. After silent bytes, if not 0, it sends nothing until its context ends.
type drip struct {
	ctx          context.Context
	first, every time.Duration // the first piece arrives after first
	piece        int
	size, silent int64
	burst        bool // much arrives when the silence ends
	sent         int64
}

func (d *drip) Read(p []byte) (int, error) {
	if d.size >= 0 && d.sent >= d.size {
		return 0, io.EOF
	}
	wait := d.every
	if d.sent == 0 {
		wait = d.first
	}
	if d.silent > 0 && d.sent >= d.silent {
		<-d.ctx.Done()
		if d.burst {
			d.burst = false
			return len(p), nil
		}
	}
	if err := retry.Sleep(d.ctx, wait); err != nil {
		return 0, err
	}
	n := min(len(p), d.piece)
	if d.size >= 0 {
		n = int(min(int64(n), d.size-d.sent))
	}
	d.sent += int64(n)
	clear(p[:n])
	return n, nil
}

func (d *drip) Close() error { return nil }

// A writingDrip is a drip with a WriteTo method, like a connection.
type writingDrip struct{ *drip }

func (d writingDrip) WriteTo(w io.Writer) (int64, error) {
	if rf, ok := w.(io.ReaderFrom); ok {
		return rf.ReadFrom(&io.LimitedReader{R: d.drip, N: 1 << 40})
	}
	return io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{d.drip})
}

// A pausedWriter pauses before each write.
type pausedWriter struct {
	pause time.Duration
	io.Writer
}

func (w *pausedWriter) Write(p []byte) (int, error) {
	time.Sleep(w.pause)
	return w.Writer.Write(p)
}

// A pausedReaderFrom is a pausedWriter with a ReadFrom method, like a file.
type pausedReaderFrom struct{ pausedWriter }

func (w *pausedReaderFrom) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(&w.pausedWriter, r)
}

func TestSpeedLimit(t *testing.T) {
	t.Parallel()
	const rate, during = 100, 5 * time.Minute
	rateLimit := func() []fetch.Middleware { return []fetch.Middleware{middleware.RateLimit(8)} }
	rateLimitPerHost := func() []fetch.Middleware { return []fetch.Middleware{middleware.RateLimitPerHost(8)} }
	for name, tt := range map[string]struct {
		drip  drip
		pause time.Duration             // of the writer
		more  func() []fetch.Middleware // outside of the speed limit
		after time.Duration             // when the body fails; 0 if it does not
	}{
		"a byte a second":                 {drip: drip{first: time.Second, every: time.Second, piece: 1, size: -1}, after: during + time.Second},
		"a little below the limit":        {drip: drip{every: time.Second, piece: 99, size: -1}, after: during},
		"a little above the limit":        {drip: drip{every: time.Second, piece: 101, size: 1e6}},
		"all at once, now and then":       {drip: drip{every: during - time.Second, piece: 30_000, size: 90_000}},
		"silence after a fast beginning":  {drip: drip{every: time.Second, piece: 5000, size: -1, silent: 65_000}, after: 11*time.Second + during},
		"much at the end of a silence":    {drip: drip{every: time.Second, piece: 5000, size: -1, silent: 10_000, burst: true}, after: during},
		"a slow resource that ends":       {drip: drip{every: time.Second, piece: 1, size: 250}},
		"a long wait for the first byte":  {drip: drip{first: time.Hour, piece: 1000, size: 5000}},
		"a slow writer":                   {drip: drip{piece: 1, size: 100}, pause: time.Minute},
		"a rate limit below":              {drip: drip{piece: 1000, size: 5000}, more: rateLimit},
		"a drip and a rate limit":         {drip: drip{every: time.Second, piece: 1, size: -1}, more: rateLimit, after: during},
		"a drip and a rate limit by host": {drip: drip{every: time.Second, piece: 1, size: -1}, more: rateLimitPerHost, after: during},
	} {
		for shape, copyTo := range map[string]struct {
			writes bool // the body has a WriteTo method
			w      func() io.Writer
		}{
			"Read":               {false, func() io.Writer { return &pausedWriter{tt.pause, io.Discard} }},
			"WriteTo":            {true, func() io.Writer { return &pausedWriter{tt.pause, &strings.Builder{}} }},
			"WriteToAndReadFrom": {true, func() io.Writer { return &pausedReaderFrom{pausedWriter{tt.pause, &strings.Builder{}}} }},
		} {
			t.Run(name+"/"+shape, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					open := func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
						d := tt.drip
						d.ctx = ctx
						resp := &fetch.Response{Meta: fetch.Meta{Size: d.size}, Body: &d}
						if copyTo.writes {
							resp.Body = writingDrip{&d}
						}
						return resp, nil
					}
					var all []fetch.Middleware // each run has its own clock
					if tt.more != nil {
						all = tt.more()
					}
					all = append(all, middleware.SpeedLimit(rate, during))
					c := fetch.New(&fetch.Options{Middleware: all}, fetch.Use("x-test", fetch.DriverFunc(open)))
					resp, err := c.Get(t.Context(), "x-test://h/")
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					start := time.Now()
					_, err = io.Copy(copyTo.w(), resp.Body)
					if tt.after == 0 {
						if err != nil {
							t.Error(err)
						}
						return
					}
					var e *fetch.Error
					const want = " bytes in 5m0s, less than 100 bytes per second"
					if !errors.As(err, &e) || e.Code != fetch.ErrNetwork || !e.Retry || !strings.HasSuffix(err.Error(), want) {
						t.Errorf("%v, want %s", err, want)
					}
					if took := time.Since(start); took < tt.after || took > tt.after+time.Second {
						t.Errorf("ended after %v, want %v", took, tt.after)
					}
				})
			})
		}
	}
}

// A listing that arrives too slowly ends too.
func TestSpeedLimitOfListings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
			return &fetch.Response{Meta: fetch.Meta{Size: -1, Kind: fetch.KindListing}, Body: &drip{ctx: ctx, every: time.Second, piece: 1, size: -1},
				Parse: func(r io.Reader) iter.Seq2[fetch.Entry, error] {
					return func(yield func(fetch.Entry, error) bool) {
						for b := make([]byte, 1); ; {
							if _, err := r.Read(b); !yield(fetch.Entry{}, err) || err != nil {
								return
							}
						}
					}
				}}, nil
		}
		c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{middleware.SpeedLimit(100, time.Minute)}}, func(_ fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "x-test", Ops: []fetch.Op{fetch.OpList}, Driver: fetch.DriverFunc(open)})
		})
		var err error
		for _, err = range c.List(t.Context(), "x-test://h/") {
		}
		if !errors.Is(err, fetch.ErrNetwork) || !strings.Contains(err.Error(), "too slow") {
			t.Error(err)
		}
	})
}

// A server that drips does not begin anew with each attempt, and what it sends is no progress that
// resets the number of tries.
func TestSpeedLimitOfAttempts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		each    int64 // bytes of an attempt
		silence bool  // after them
		within  time.Duration
	}{
		"drips":                      {each: 1 << 40, within: 16 * time.Minute},
		"drips that are silent then": {each: 10, silence: true, within: 40 * time.Minute},
	} {
		for shape, segments := range map[string]int{"stream": 1, "segments": 4} {
			t.Run(name+"/"+shape, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					const size = 8 << 20
					open := func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
						d := &drip{ctx: ctx, every: time.Second, piece: 1, size: -1}
						resp := &fetch.Response{Meta: fetch.Meta{Size: size, Validator: fetch.Validator{ETag: `"a"`}}, Body: d}
						if !req.Range.IsZero() {
							resp.Range = req.Range
							resp.Size = size - req.Range.Offset
							if req.Range.Length > 0 {
								resp.Size = req.Range.Length
							}
						}
						if tt.silence { // which the idle timeout ends
							d.silent = tt.each
							var cancel context.CancelCauseFunc
							d.ctx, cancel = context.WithCancelCause(ctx)
							time.AfterFunc(time.Duration(tt.each)*time.Second+time.Minute, func() { cancel(&fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: errors.New("nothing received")}) })
						}
						return resp, nil
					}
					c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{middleware.SpeedLimit(100, 5*time.Minute)}}, func(_ fetch.Env, reg *fetch.Registry) {
						reg.Register(fetch.Scheme{Name: "x-test", Ops: []fetch.Op{fetch.OpGet}, Ranges: true, Driver: fetch.DriverFunc(open)})
					})
					root, err := os.OpenRoot(dir)
					if err != nil {
						t.Fatal(err)
					}
					defer root.Close()
					d := &download.Downloader{Client: c, Root: root, Tool: "test"}
					start := time.Now()
					_, err = d.Get(t.Context(), "x-test://h/f", "", &download.Options{Segments: segments, Retry: retry.Policy{Tries: 3}})
					if !errors.Is(err, fetch.ErrNetwork) || time.Since(start) > tt.within {
						t.Errorf("%v after %v", err, time.Since(start))
					}
				})
			})
		}
	}
}
