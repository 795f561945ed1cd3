// Package retry decides whether to repeat a failed attempt and how long to wait before it:
// exponential backoff with jitter, and the pause that a server asks for.
//
// A [Policy] does not depend on a protocol. Its Transient function decides which errors are
// transient.
package retry

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

// A Policy configures how often and when to retry. Packages that use a Policy have defaults for its
// zero fields (see [Policy.Or]).
type Policy struct {
	// Tries is the number of consecutive failures after which a failure is final. A negative value
	// means no limit. Progress resets the count.
	Tries int
	// Wait is the maximum pause after the first failure. It doubles with each further failure, up
	// to MaxWait.
	Wait    time.Duration
	MaxWait time.Duration
	// Jitter is the random part of each pause.
	Jitter Jitter
	// MaxRetryAfter is the longest pause that a server may ask for. If a server asks for a longer
	// one, the failure is final. A negative value means no limit.
	MaxRetryAfter time.Duration
	// Transient reports whether the same attempt may succeed later, and how long the server asked
	// to wait; 0 if it did not.
	Transient func(err error) (after time.Duration, ok bool)
	// Report, if not nil, is called before each pause with the number of consecutive failures, the
	// pause and the error.
	Report func(failed int, pause time.Duration, err error)
}

// Jitter is the random part of a pause. It keeps the clients of a server from returning all at the
// same time.
type Jitter uint8

// The values of Jitter.
const (
	FullJitter Jitter = iota // the whole pause
	HalfJitter               // up to half of the pause
	NoJitter
)

// Or returns p with its zero fields replaced by those of defaults.
func (p Policy) Or(defaults Policy) Policy {
	p.Tries = cmp.Or(p.Tries, defaults.Tries)
	p.Wait = cmp.Or(max(p.Wait, 0), defaults.Wait)
	p.MaxWait = cmp.Or(max(p.MaxWait, 0), defaults.MaxWait)
	p.Jitter = cmp.Or(p.Jitter, defaults.Jitter)
	p.MaxRetryAfter = cmp.Or(p.MaxRetryAfter, defaults.MaxRetryAfter)
	if p.Transient == nil {
		p.Transient = defaults.Transient
	}
	if p.Report == nil {
		p.Report = defaults.Report
	}
	return p
}

// Next returns the pause before the next attempt, given the number of consecutive failures and the
// last error. Again is false if there must not be another attempt. Pause is then 0, or the pause
// that the server asked for if it exceeds MaxRetryAfter.
func (p *Policy) Next(failed int, err error) (pause time.Duration, again bool) {
	after, ok := p.Transient(err)
	switch {
	case !ok, p.Tries > 0 && failed >= p.Tries:
		return 0, false
	case p.MaxRetryAfter > 0 && after > p.MaxRetryAfter:
		return after, false
	}
	return p.Pause(failed, after, rand.N[time.Duration]), true
}

// Pause returns the pause after failed consecutive failures if the server asked for after, which is
// limited by MaxRetryAfter. Random returns a number in [0, n) for an argument n.
func (p *Policy) Pause(failed int, after time.Duration,
	random func(time.Duration) time.Duration) time.Duration {
	if p.MaxRetryAfter > 0 {
		after = min(after, p.MaxRetryAfter)
	}
	bound := p.bound(failed)
	switch p.Jitter {
	case FullJitter:
		bound = random(max(bound, 1))
	case HalfJitter:
		bound = bound/2 + random(bound/2+1)
	}
	return max(bound, after)
}

// bound returns the maximum pause after failed failures if the server did not ask for one; 0 if
// failed is 0.
func (p *Policy) bound(failed int) time.Duration {
	if failed < 1 {
		return 0
	}
	bound := p.Wait
	for range failed - 1 {
		if bound <= 0 || bound >= p.MaxWait {
			break
		}
		bound *= 2
	}
	return min(bound, p.MaxWait)
}

// Sleep waits for pause. If ctx ends first, Sleep returns its cause.
func Sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
