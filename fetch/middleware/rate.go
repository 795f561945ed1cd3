// Package middleware holds wrappers around the exchanges of a fetch.Client: what limits how fast,
// and how many at once.
package middleware

import (
	"context"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/urlget/urlget/fetch"
)

// RateLimit lets all bodies of a client together bring no more than bytesPerSecond, on average over
// a second. Listings read by Entries and sessions are not limited. It panics if the rate is not
// positive.
func RateLimit(bytesPerSecond int64) fetch.Middleware {
	l := newLimiter(bytesPerSecond)
	return slowed(func(string) (*limiter, func()) { return l, func() {} })
}

// RateLimitPerHost is RateLimit for the bodies of each host by itself. URLs without a host are not
// limited.
func RateLimitPerHost(bytesPerSecond int64) fetch.Middleware {
	newLimiter(bytesPerSecond) // or panic now
	h := &rates{rate: bytesPerSecond, hosts: make(map[string]*hostRate)}
	return slowed(h.of)
}

// slowed returns a middleware that lets each body wait for the limiter of its host, and release it
// at the end.
func slowed(of func(host string) (l *limiter, release func())) fetch.Middleware {
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			resp, err := next.Open(ctx, req)
			if err != nil || resp.Kind == fetch.KindSession {
				return resp, err
			}
			if l, release := of(req.URL.Host()); l != nil {
				resp.Body = fetch.OnClose(&slowBody{ReadCloser: resp.Body, ctx: ctx, limiter: l}, release)
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

// A slowBody hides io.WriterTo, since every byte must wait its turn.
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
