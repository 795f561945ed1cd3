package schedule

import (
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
)

// A gate limits the tasks of one host name or one address.
type gate struct {
	limits Limits
	slots  int // tasks at once; less than limits.Parallel after the host was busy
	// slots may not grow beyond it, since the host did not keep up; 0 if there is none
	ceiling   int
	fastest   time.Duration // shortest successful task
	shrunk    time.Time     // when slots were last halved
	running   int           // active tasks
	successes int           // consecutive successful tasks since slots changed
	next      time.Time     // the earliest start of the next task under limits.Delay
	until     time.Time     // end of the pause after the host was busy
	failures  int           // consecutive pauses
}

// pauses returns the policy for pausing busy hosts. A pause is at most maxPause long. Retries of tasks do
// not use this policy.
func pauses(maxPause time.Duration) *retry.Policy {
	return &retry.Policy{Wait: time.Second, MaxWait: maxPause, Jitter: retry.HalfJitter,
		MaxRetryAfter: maxPause}
}

// setLimits sets the limits; all is the limit for all hosts together.
func (g *gate) setLimits(l Limits, all int) {
	if l.Parallel < 0 || l.Parallel > all {
		l.Parallel = all
	}
	l.Grow = min(max(l.Grow, l.Parallel), all)
	l.Delay = max(l.Delay, 0)
	g.limits = l
	if g.failures == 0 {
		g.slots = max(g.slots, l.Parallel)
	}
	g.slots = min(g.slots, l.Grow)
}

// nextStart returns the earliest start of the next task, which may be in the past, and whether a
// slot is free.
func (g *gate) nextStart() (at time.Time, free bool) {
	at = g.next
	if g.until.After(at) {
		at = g.until
	}
	return at, g.running < g.slots
}

// begin and end record that a task started or ended; delay is the time until the next start.
func (g *gate) begin(now time.Time, delay time.Duration) {
	g.running++
	g.next = now.Add(delay)
}

func (g *gate) end(now time.Time, delay time.Duration) {
	g.running--
	g.next = now.Add(delay)
}

// pauseFor returns the pause that err requests for its host; 0 means that the scheduler chooses it.
// ok is false if err is not about load.
func pauseFor(err error) (pause time.Duration, ok bool) {
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok || e.Code != fetch.ErrBusy && e.RetryAfter <= 0 {
		return 0, false
	}
	return e.RetryAfter, true
}

// isOverload reports whether err may mean that the host has too many connections: one was refused or
// lost.
func isOverload(err error) bool {
	e, ok := errors.AsType[*fetch.Error](err)
	return ok && (e.Code == fetch.ErrNetwork || e.Code == fetch.ErrTruncated)
}

// pause pauses the gate. Tasks that were active when the pause began report the same problem, so
// only the first one counts as a failure.
func (g *gate) pause(now time.Time, requested, maxPause time.Duration,
	random func(time.Duration) time.Duration) {
	pause := min(requested, maxPause)
	if !now.Before(g.until) {
		g.failures++
		pause = pauses(maxPause).Pause(g.failures, requested, random)
		g.slots = max(g.slots/2, 1)
		g.limitGrowth()
	}
	g.successes = 0
	if until := now.Add(pause); until.After(g.until) {
		g.until = until
	}
}

// succeeded records a successful task. After as many consecutive successes as it has slots, the
// host gets one more slot.
func (g *gate) succeeded(now time.Time, took time.Duration) {
	switch {
	case now.Before(g.until): // the task may have started before the pause
		return
	case g.failures == 0:
		g.grow(took)
		return
	}
	if g.successes++; g.successes < g.slots {
		return
	}
	g.successes = 0
	if g.slots < g.limits.Parallel {
		g.slots++
	}
	if g.slots >= g.limits.Parallel {
		g.failures = 0
	}
}

const (
	// growth is the number of slots that a success adds. Three for each of N tasks quadruple the
	// slots in one round trip.
	growth = 3
	// slowdown is how many times longer than the fastest one a task may take, in addition to
	// slowdownGrace, until the number of tasks no longer grows.
	slowdown      = 2
	slowdownGrace = 50 * time.Millisecond
	// shrinkInterval is the time in which several lost connections count as one.
	shrinkInterval = time.Second
)

// grow adds slots after a successful task that took a time, unless the host has become slow.
func (g *gate) grow(took time.Duration) {
	if g.fastest == 0 || took < g.fastest {
		g.fastest = took
	}
	most := g.limits.Grow
	if g.ceiling > 0 {
		most = min(most, g.ceiling)
	}
	if g.slots < most && took <= slowdown*g.fastest+slowdownGrace {
		g.slots = min(g.slots+growth, most)
	}
}

// limitGrowth makes the present number of slots the most that the host gets, but at least
// limits.Parallel.
func (g *gate) limitGrowth() { g.ceiling = max(g.slots, g.limits.Parallel) }

// shrink halves the slots of a host that does not take more connections. Slots that it had from the
// beginning remain.
func (g *gate) shrink(now time.Time) {
	if g.slots > g.limits.Parallel && now.Sub(g.shrunk) >= shrinkInterval {
		g.shrunk = now
		g.slots = max(min(g.slots, g.running+1)/2, g.limits.Parallel)
		g.limitGrowth()
	}
}

func (g *gate) isIdle(now time.Time) bool {
	return g.running == 0 && g.failures == 0 && !now.Before(g.next) && !now.Before(g.until)
}
