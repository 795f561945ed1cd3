// Package middleware holds wrappers around the exchanges of a fetch.Client: what limits how fast,
// and how many at once.
package middleware

import (
	"context"
	"io"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// RateLimit lets all bodies of a client together bring no more than bytesPerSecond, on average over
// a second. Listings read by Entries and sessions are not limited. It panics if the rate is not
// positive.
func RateLimit(bytesPerSecond int64) driver.Middleware {
	l := newLimiter(bytesPerSecond)
	return slowed(func(string) (*limiter, func()) { return l, func() {} })
}

// RateLimitPerHost is RateLimit for the bodies of each host by itself. URLs without a host are not
// limited.
func RateLimitPerHost(bytesPerSecond int64) driver.Middleware {
	newLimiter(bytesPerSecond) // or panic now
	h := &rates{rate: bytesPerSecond, hosts: make(map[string]*hostRate)}
	return slowed(h.of)
}

// slowed returns a middleware that lets each body wait for the limiter of its host, and release it
// at the end.
func slowed(of func(host string) (l *limiter, release func())) driver.Middleware {
	return func(next driver.Driver) driver.Driver {
		return driver.DriverFunc(func(ctx context.Context, req *fetch.Request) (*driver.Response, error) {
			resp, err := next.Open(ctx, req)
			if err != nil || resp.Kind == fetch.KindSession {
				return resp, err
			}
			if l, release := of(req.URL.Host()); l != nil {
				resp.Body = driver.OnClose(slow(ctx, resp.Body, l), release)
			}
			return resp, nil
		})
	}
}

// A limiter is what bodies wait for.
type limiter struct {
	*rate.Limiter
	burst int // what may come at once: small, so that the flow is even
}

func newLimiter(bytesPerSecond int64) *limiter {
	if bytesPerSecond <= 0 {
		panic("middleware: RateLimit of nothing")
	}
	burst := int(min(max(bytesPerSecond/8, 1), 256<<10))
	return &limiter{rate.NewLimiter(rate.Limit(bytesPerSecond), burst), burst}
}

// rates are the limiters of the hosts that bodies are open of.
type rates struct {
	rate  int64
	mu    sync.Mutex
	hosts map[string]*hostRate
}

type hostRate struct {
	*limiter
	users int
}

// idleRates is how many hosts without an open body are remembered, so that many small bodies in
// turn are limited too.
const idleRates = 1000

func (r *rates) of(host string) (l *limiter, release func()) {
	if host == "" {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hosts[host]
	if h == nil {
		for name, idle := range r.hosts {
			if len(r.hosts) < idleRates {
				break
			}
			if idle.users == 0 {
				delete(r.hosts, name)
			}
		}
		h = &hostRate{limiter: newLimiter(r.rate)}
		r.hosts[host] = h
	}
	h.users++
	return h.limiter, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		h.users--
	}
}

// slow returns body, every byte of which waits its turn. Where the kernel can move the bytes, it
// still does.
func slow(ctx context.Context, body io.ReadCloser, l *limiter) io.ReadCloser {
	b := &slowBody{ReadCloser: body, ctx: ctx, limiter: l}
	if w, ok := body.(io.WriterTo); ok {
		return &slowSource{b, w}
	}
	return b
}

// A slowBody reads no faster than its limiter lets it.
type slowBody struct {
	io.ReadCloser
	ctx     context.Context
	limiter *limiter
}

// Read pays for the bytes after they came: how many there are is not known before.
func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.limiter.burst)])
	if n > 0 {
		if cause := b.pay(n); cause != nil {
			return n, cause
		}
	}
	return n, err
}

// pay waits until n bytes are due, or returns why the context ended. It does not use WaitN, which
// gives up as soon as the deadline cannot be met.
func (b *slowBody) pay(n int) error {
	due := time.NewTimer(b.limiter.ReserveN(time.Now(), n).Delay())
	defer due.Stop()
	select {
	case <-due.C:
		return nil
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	}
}

// A slowSource is a slowBody that can as well write itself somewhere.
type slowSource struct {
	*slowBody
	source io.WriterTo
}

// WriteTo slows down the writer, and so who writes to it.
func (b *slowSource) WriteTo(w io.Writer) (int64, error) {
	s := &slowWriter{b.slowBody, w}
	if rf, ok := w.(io.ReaderFrom); ok {
		return b.source.WriteTo(&slowReaderFrom{s, rf})
	}
	return b.source.WriteTo(s)
}

// A slowWriter passes on what is written, and then waits until it was due.
type slowWriter struct {
	body *slowBody
	w    io.Writer
}

func (s *slowWriter) Write(p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		var n int
		n, err = s.w.Write(p[:min(len(p), s.body.limiter.burst)])
		if written, p = written+n, p[n:]; n > 0 {
			if cause := s.body.pay(n); cause != nil {
				return written, cause
			}
		}
	}
	return written, err
}

// A slowReaderFrom does the same with what w reads itself, as files do that the kernel fills from a
// connection. It asks for no more at once than may come at once.
type slowReaderFrom struct {
	*slowWriter
	rf io.ReaderFrom
}

func (s *slowReaderFrom) ReadFrom(r io.Reader) (written int64, err error) {
	source, all := r, &io.LimitedReader{N: math.MaxInt64}
	if lr, ok := r.(*io.LimitedReader); ok { // of two, one within the other, the kernel sees but one
		source, all = lr.R, lr
	}
	for err == nil && all.N > 0 {
		piece := &io.LimitedReader{R: source, N: min(all.N, int64(s.body.limiter.burst))}
		asked := piece.N
		var n int64
		n, err = s.rf.ReadFrom(piece)
		written, all.N = written+n, all.N-(asked-piece.N)
		if n > 0 {
			if cause := s.body.pay(int(n)); cause != nil {
				return written, cause
			}
		}
		if piece.N > 0 {
			break // the end of r
		}
	}
	return written, err
}
