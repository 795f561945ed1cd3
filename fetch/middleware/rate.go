// Package middleware limits the rate, the least rate and the concurrency of the exchanges of a
// fetch.Client.
package middleware

import (
	"context"
	"io"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
)

// RateLimit limits the total rate of all bodies of a client to bytesPerSecond, averaged over a
// second. Listings read by Entries and sessions are not limited. It panics if the rate is not
// positive.
func RateLimit(bytesPerSecond int64) fetch.Middleware {
	l := newLimiter(bytesPerSecond)
	return slowed(func(string) (*limiter, func()) { return l, func() {} })
}

// RateLimitPerHost is like RateLimit, but for each host separately. URLs without a host are not
// limited.
func RateLimitPerHost(bytesPerSecond int64) fetch.Middleware {
	newLimiter(bytesPerSecond) // panics if the rate is invalid
	h := &rates{rate: bytesPerSecond, hosts: make(map[string]*hostRate)}
	return slowed(h.of)
}

// slowed returns a middleware that limits each body by the limiter of its host, and releases the
// limiter when the body is closed.
func slowed(of func(host string) (l *limiter, release func())) fetch.Middleware {
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			resp, err := next.Open(ctx, req)
			if err != nil || resp.Kind == fetch.KindSession {
				return resp, err
			}
			if l, release := of(req.URL.Host()); l != nil {
				resp.Body = fetch.OnClose(slow(ctx, resp.Body, l), release)
			}
			return resp, nil
		})
	}
}

type limiter struct {
	*rate.Limiter
	burst int // maximum bytes per read; small, so that the rate is even
}

func newLimiter(bytesPerSecond int64) *limiter {
	if bytesPerSecond <= 0 {
		panic("middleware: RateLimit of nothing")
	}
	burst := int(min(max(bytesPerSecond/8, 1), 256<<10))
	l := rate.NewLimiter(rate.Limit(bytesPerSecond), burst)
	l.AllowN(time.Now(), burst) // nothing arrives faster at the beginning
	return &limiter{l, burst}
}

// rates holds the limiters of hosts with open bodies, and of recent ones.
type rates struct {
	rate  int64
	mu    sync.Mutex
	hosts map[string]*hostRate
}

type hostRate struct {
	*limiter
	users int
}

// idleRates is the number of hosts without an open body that are remembered, so that consecutive
// small bodies are limited too.
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

// slow returns body, limited by l. The kernel can still move the bytes.
func slow(ctx context.Context, body io.ReadCloser, l *limiter) io.ReadCloser {
	b := &slowBody{ReadCloser: body, ctx: ctx, limiter: l}
	if w, ok := body.(io.WriterTo); ok {
		return &slowSource{b, w}
	}
	return b
}

type slowBody struct {
	io.ReadCloser
	ctx     context.Context
	limiter *limiter
}

// Read waits after reading, because the number of bytes is unknown before.
func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.limiter.burst)])
	if n > 0 {
		if cause := b.wait(n); cause != nil {
			return n, cause
		}
	}
	return n, err
}

// wait waits until n bytes are due. If the context ends first, it returns the cause. It does not use
// WaitN, which fails at once if the deadline cannot be met.
func (b *slowBody) wait(n int) error {
	return retry.Sleep(b.ctx, b.limiter.ReserveN(time.Now(), n).Delay())
}

type slowSource struct {
	*slowBody
	source io.WriterTo
}

// WriteTo limits the writer, and thereby the source.
func (b *slowSource) WriteTo(w io.Writer) (int64, error) {
	s := &slowWriter{b.slowBody, w}
	if rf, ok := w.(io.ReaderFrom); ok {
		return b.source.WriteTo(&slowReaderFrom{s, rf})
	}
	return b.source.WriteTo(s)
}

type slowWriter struct {
	body *slowBody
	w    io.Writer
}

func (s *slowWriter) Write(p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		var n int
		n, err = s.w.Write(p[:min(len(p), s.body.limiter.burst)])
		if written, p = written+n, p[n:]; n > 0 {
			if cause := s.body.wait(n); cause != nil {
				return written, cause
			}
		}
	}
	return written, err
}

// A slowReaderFrom is a slowWriter whose w has a ReadFrom method, such as a file that the kernel
// fills from a connection. It reads at most burst bytes at once.
type slowReaderFrom struct {
	*slowWriter
	rf io.ReaderFrom
}

func (s *slowReaderFrom) ReadFrom(r io.Reader) (written int64, err error) {
	source, all := r, &io.LimitedReader{N: math.MaxInt64}
	if lr, ok := r.(*io.LimitedReader); ok { // the kernel moves bytes only through a single LimitedReader
		source, all = lr.R, lr
	}
	for err == nil && all.N > 0 {
		piece := &io.LimitedReader{R: source, N: min(all.N, int64(s.body.limiter.burst))}
		limit := piece.N
		var n int64
		n, err = s.rf.ReadFrom(piece)
		written, all.N = written+n, all.N-(limit-piece.N)
		if n > 0 {
			if cause := s.body.wait(int(n)); cause != nil {
				return written, cause
			}
		}
		if piece.N > 0 {
			break // EOF of r
		}
	}
	return written, err
}
