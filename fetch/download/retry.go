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

	defaultMaxRetryWait = time.Minute
)

// A retrier decides whether to retry, and when.
type retrier struct {
	tries  int // negative: no limit
	wait   time.Duration
	most   time.Duration // the longest wait that a server may ask for; negative: no limit
	report func(failed int, wait time.Duration, err error)
	failed int  // consecutive failures
	begun  bool // some content has arrived
}

// nameServerTries bounds the attempts while no name server answers and nothing has been
// transferred: there may be no network. In the middle of a transfer, it may be expected to come
// back.
const nameServerTries = 2

func newRetrier(opts *Options) *retrier {
	r := &retrier{tries: opts.Tries, wait: opts.Wait, most: opts.MaxRetryWait, report: opts.Retry}
	if r.tries == 0 {
		r.tries = defaultTries
	}
	if r.most == 0 {
		r.most = defaultMaxRetryWait
	}
	if r.wait <= 0 {
		r.wait = defaultWait
	}
	return r
}

// Retry calls f until it succeeds or another attempt makes no sense, with the tries and pauses of a
// download: Tries, Wait, MaxRetryWait and Retry of opts count. It is for requests whose answers are
// not saved; f must not have handed on anything when it fails.
func Retry(ctx context.Context, opts *Options, f func() error) error {
	for r := newRetrier(opts); ; {
		err := f()
		if err == nil {
			return nil
		}
		if err := r.again(ctx, err); err != nil {
			return err
		}
	}
}

// Again returns an error for [Options.Response] that ends only the attempt: err counts as a failure
// of the server or the network, which may be tried again.
func Again(err error) error { return &failedAttempt{err} }

type failedAttempt struct{ error }

// again waits before another attempt. If there is to be none, it returns the final error.
func (r *retrier) again(ctx context.Context, err error) error {
	r.failed++
	var e *fetch.Error
	if !errors.As(err, &e) || !e.Retry || ctx.Err() != nil || r.tries > 0 && r.failed >= r.tries {
		return err
	}
	if e.Reason.Kind == fetch.ReasonNameServer && !r.begun && r.failed >= nameServerTries {
		return err
	}
	if r.most > 0 && e.RetryAfter > r.most {
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
		dup.Code, dup.Retry, dup.Err = fetch.CodeOf(fetch.ContextError(ctx)), false, context.Cause(ctx)
		return &dup
	}
}

// backoff returns a random pause within a bound that doubles with each failure, so that the clients
// of a server do not all come back at once.
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
