// Package retry decides whether a failed attempt is repeated, and after which pause: with
// exponential backoff, jitter and the time that a server asks for.
//
// A [Policy] knows no protocol. Its Transient function says which errors may pass.
package retry

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

// A Policy says how often and when to retry. For its zero fields, the package that takes it has
// defaults (see [Policy.Or]).
type Policy struct {
	// Tries is the number of consecutive attempts that may fail before the failure is final; less
	// than 0 means that there is no limit. An attempt that makes progress starts the count over.
	Tries int
	// Wait bounds the pause after the first failure. The bound doubles with each further failure, up
	// to MaxWait.
	Wait    time.Duration
	MaxWait time.Duration
	// Jitter says which part of a pause is random.
	Jitter Jitter
	// MaxRetryAfter is the longest pause that a server may ask for; less than 0 means that there is
	// no limit. If a server asks for more, the failure is final.
	MaxRetryAfter time.Duration
	// Transient reports whether the same attempt may succeed later, and how long the server asked
	// to wait before that; 0 if it did not.
	Transient func(err error) (after time.Duration, ok bool)
	// Report, if not nil, is called before each pause with the number of consecutive failures, the
	// pause and the error.
	Report func(failed int, pause time.Duration, err error)
}

// Jitter says which part of a pause is random, so that the clients of a server do not all return
// at once.
type Jitter uint8

// The parts of a pause that are random.
const (
	FullJitter Jitter = iota // all of it
	HalfJitter               // up to a half of it
	NoJitter
)

// Or returns p with the fields of defaults in place of zero ones.
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

// Next returns the pause before the next attempt after failed consecutive failures, the last of
// which is err. If there is to be none, again is false. The pause is then 0, or what the server asks
// for if that alone is too long.
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

// Pause returns how long to wait after failed consecutive failures if the server asked for after,
// of which no more than MaxRetryAfter counts. Random returns a number from 0 to below its argument.
func (p *Policy) Pause(failed int, after time.Duration, random func(time.Duration) time.Duration) time.Duration {
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

// bound returns the longest pause after failed failures if the server asks for none; 0 if nothing
// has failed.
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

// Sleep pauses. If ctx ends first, it returns the cause.
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
