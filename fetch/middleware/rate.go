// Package middleware holds wrappers around the exchanges of a fetch.Client:
// what limits how fast, and how many at once.
package middleware

import (
	"context"
	"io"
	"time"

	"golang.org/x/time/rate"

	"github.com/urlget/urlget/fetch"
)

// RateLimit lets all bodies of a client together bring no more than
// octetsPerSecond, on average over a second. Listings read by Entries and
// sessions are not limited. It panics if the rate is not positive.
func RateLimit(octetsPerSecond int64) fetch.Middleware {
	if octetsPerSecond <= 0 {
		panic("middleware: RateLimit of nothing")
	}
	// The burst is what may come at once: small, so that the flow is even.
	burst := int(min(max(octetsPerSecond/8, 1), 256<<10))
	limiter := rate.NewLimiter(rate.Limit(octetsPerSecond), burst)
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			resp, err := next.Open(ctx, req)
			if err != nil || resp.Kind == fetch.KindSession {
				return resp, err
			}
			resp.Body = &slowBody{ReadCloser: resp.Body, ctx: ctx, limiter: limiter, burst: burst}
			return resp, nil
		})
	}
}

// A slowBody hides io.WriterTo, since every octet must wait its turn.
type slowBody struct {
	io.ReadCloser
	ctx     context.Context
	limiter *rate.Limiter
	burst   int
}

// Read pays for the octets after they came: how many there are is not known
// before.
func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.burst)])
	if n > 0 {
		if cause := b.pay(n); cause != nil {
			return n, cause
		}
	}
	return n, err
}

// pay waits until n octets are due, or returns why the context ended. It does
// not use WaitN, which gives up as soon as the deadline cannot be met.
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
