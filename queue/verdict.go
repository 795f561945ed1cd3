package queue

import (
	"cmp"
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
)

// backoffs are the pauses after the first failure, by class. They double with each further failure,
// up to maxBackoff.
var backoffs = map[fetch.Code]time.Duration{
	fetch.ErrBusy:      10 * time.Second,
	fetch.ErrServer:    30 * time.Second,
	fetch.ErrNetwork:   5 * time.Second,
	fetch.ErrTruncated: 2 * time.Second,
	fetch.ErrChanged:   2 * time.Second,
	fetch.ErrFile:      30 * time.Second,
}

const (
	defaultBackoff = 5 * time.Second
	maxBackoff     = 10 * time.Minute
	maxRetryAfter  = time.Hour // limits Retry-After
)

// alwaysRetried lists the failure classes that are always retried, whatever Error.Retry says.
var alwaysRetried = []fetch.Code{fetch.ErrBusy, fetch.ErrTruncated, fetch.ErrChanged, fetch.ErrFile}

// isTransient reports whether a failure is transient. A refused connection is transient for a
// queue, because the server may be up later.
func isTransient(r *job.Result) bool {
	return r.Outcome == job.Failed &&
		(r.Retry || r.RetryAfter > 0 || slices.Contains(alwaysRetried, r.Class) ||
			errors.Is(r.Err, syscall.ECONNREFUSED))
}

// pause returns the delay after the given number of failures, the last of which is r. If p.Wait is
// 0, the class of the failure determines it.
func pause(r *job.Result, failures int, p retry.Policy,
	random func(time.Duration) time.Duration) time.Duration {
	p = p.Or(retry.Policy{Wait: cmp.Or(backoffs[r.Class], defaultBackoff), MaxWait: maxBackoff,
		Jitter: retry.HalfJitter, MaxRetryAfter: maxRetryAfter})
	return p.Pause(max(failures, 1), r.RetryAfter, random)
}
