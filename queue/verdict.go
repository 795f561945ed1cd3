package queue

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
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

// pause returns how long to wait after so many failures, the last of which is r: half of it at
// least, and the rest by chance, so that what failed together does not come together again. random
// returns a number from 0 to below its argument.
func pause(r *job.Result, failures int, random func(time.Duration) time.Duration) time.Duration {
	d, ok := backoffs[r.Class]
	if !ok {
		d = defaultBackoff
	}
	d = min(d<<min(max(failures-1, 0), 16), maxBackoff)
	d = d/2 + random(d/2+1)
	return max(d, min(r.RetryAfter, maxRetryAfter))
}
