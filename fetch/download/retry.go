package download

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/urlget/urlget/fetch"
)

const (
	defaultTries = 5
	defaultWait  = time.Second
	maxWait      = time.Minute
	// maxRetryAfter is the longest pause a server can ask for. Who asks for
	// more is told to the user instead.
	maxRetryAfter = 10 * time.Minute
)

// A retrier decides whether to try again, and when.
type retrier struct {
	tries  int // less than 0: without end
	wait   time.Duration
	report func(failed int, wait time.Duration, err error)
	failed int // tries in a row
}

func newRetrier(opts *Options) *retrier {
	r := &retrier{tries: opts.Tries, wait: opts.Wait, report: opts.Retry}
	if r.tries == 0 {
		r.tries = defaultTries
	}
	if r.wait <= 0 {
		r.wait = defaultWait
	}
	return r
}

// again pauses before another try. If there is to be none, it returns the
// error to fail with.
func (r *retrier) again(ctx context.Context, err error) error {
	r.failed++
	var e *fetch.Error
	if !errors.As(err, &e) || !e.Retry || ctx.Err() != nil || r.tries > 0 && r.failed >= r.tries {
		return err
	}
	if e.RetryAfter > maxRetryAfter {
		dup := *e
		dup.Hint = fmt.Sprintf("the server asks to come back in %s", e.RetryAfter.Round(time.Second))
		return &dup
	}
	pause := max(r.backoff(), e.RetryAfter)
	if r.report != nil {
		r.report(r.failed, pause, err)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		dup := *e
		dup.Code, dup.Retry, dup.Err = fetch.CodeOf(context.Cause(ctx)), false, context.Cause(ctx)
		switch {
		case dup.Code != "":
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			dup.Code = fetch.ErrNetwork
		default:
			dup.Code = fetch.ErrInterrupted
		}
		return &dup
	}
}

// backoff returns a random pause below a bound that doubles with each failure,
// so that many clients of one server do not come back at once.
func (r *retrier) backoff() time.Duration {
	bound := r.wait
	for range r.failed - 1 {
		if bound >= maxWait {
			break
		}
		bound *= 2
	}
	return rand.N(max(min(bound, maxWait), 1))
}
