package download

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/internal/pace"
)

var defaultRetry = retry.Policy{Tries: 5, Wait: time.Second, MaxWait: time.Minute,
	MaxRetryAfter: time.Minute, Transient: fetch.Transient}

type retrier struct {
	retry.Policy
	failed int         // consecutive failures
	begun  bool        // some content was received
	window pace.Window // of all attempts; see middleware.SpeedLimit
}

// recordProgress records that an attempt received content. From a server that drips, that is no
// progress, or it could hold a connection forever.
func (r *retrier) recordProgress() {
	if r.begun = true; !r.window.Slow() {
		r.failed = 0
	}
}

// nameServerTries bounds the attempts while no name server answers and no content was received,
// because there may be no network. In the middle of a transfer the network is expected to return.
const nameServerTries = 2

func newRetrier(p retry.Policy) *retrier { return &retrier{Policy: p.Or(defaultRetry)} }

// Retry calls f until it succeeds, returns a permanent error or runs out of tries, with the defaults
// of Options.Retry. It is for requests whose responses are not saved. If f fails, it must not have
// passed on any content.
func Retry(ctx context.Context, p retry.Policy, f func() error) error {
	for r := newRetrier(p); ; {
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
// of the server or the network, which may be retried.
func Again(err error) error { return &failedAttempt{err} }

type failedAttempt struct{ error }

// again waits before another attempt. If err is final, it returns the error to report.
func (r *retrier) again(ctx context.Context, err error) error {
	r.failed++
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok || ctx.Err() != nil ||
		e.Reason.Kind == fetch.ReasonNameServer && !r.begun && r.failed >= nameServerTries {
		return err
	}
	pause, again := r.Next(r.failed, err)
	switch {
	case !again && pause > 0:
		dup := *e
		dup.Hint = fmt.Sprintf("retry in %s, as the server requested", pause.Round(time.Second))
		return &dup
	case !again:
		return err
	}
	if r.Report != nil {
		r.Report(r.failed, pause, err)
	}
	if cause := retry.Sleep(ctx, pause); cause != nil {
		dup := *e
		dup.Code, dup.Retry, dup.Err = fetch.CodeOf(fetch.ContextError(ctx)), false, cause
		return &dup
	}
	return nil
}
