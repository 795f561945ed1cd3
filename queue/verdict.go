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

// backoffs are the pauses before the second try, by the class of the first failure. They double with
// each further one, up to maxBackoff.
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
	maxRetryAfter  = time.Hour // a server may ask for
)

// again are classes of failures that pass, whatever the error says of another try by the same
// worker right now.
var again = []fetch.Code{fetch.ErrBusy, fetch.ErrTruncated, fetch.ErrChanged, fetch.ErrFile}

// passes reports whether another try, later and perhaps elsewhere, may do what this one did not. A
// server that is down now, which is no use trying again at once, may be up by then.
func passes(r *job.Result) bool {
	return r.Outcome == job.Failed && (r.Retry || r.RetryAfter > 0 || slices.Contains(again, r.Class) ||
		errors.Is(r.Err, syscall.ECONNREFUSED))
}

// pause returns how long to wait after so many failures, the last of which is r. Wait is that of
// the policy of the worker; 0 stands for one that the class of the failure decides.
func pause(r *job.Result, failures int, p retry.Policy, random func(time.Duration) time.Duration) time.Duration {
	p = p.Or(retry.Policy{Wait: cmp.Or(backoffs[r.Class], defaultBackoff), MaxWait: maxBackoff, Jitter: retry.HalfJitter, MaxRetryAfter: maxRetryAfter})
	return p.Pause(max(failures, 1), r.RetryAfter, random)
}
