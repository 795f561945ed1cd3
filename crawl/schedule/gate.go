package schedule

import (
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
)

// A gate lets the tasks of one host name, or of one address, begin.
type gate struct {
	limits   Limits
	most     int       // tasks at once for now: less than limits.Parallel after the host was busy
	running  int       // tasks
	good     int       // tasks in a row that ended well since most was changed
	next     time.Time // the earliest beginning of the next task, as the delay has it
	until    time.Time // when the host may be asked again after it was busy
	failures int       // pauses in a row
}

// pauses returns the policy for the pauses of busy hosts, none of which is longer than most. The tasks
// decide themselves whether they are retried.
func pauses(most time.Duration) *retry.Policy {
	return &retry.Policy{Wait: time.Second, MaxWait: most, Jitter: retry.HalfJitter, MaxRetryAfter: most}
}

// setLimits sets the limits; all is how many tasks there may be of all hosts together.
func (g *gate) setLimits(l Limits, all int) {
	if l.Parallel < 0 || l.Parallel > all {
		l.Parallel = all
	}
	l.Delay = max(l.Delay, 0)
	g.limits = l
	if g.failures == 0 {
		g.most = l.Parallel
	}
	g.most = min(g.most, l.Parallel)
}

// when returns when the next task may begin, which may be in the past, and whether it may but for
// that.
func (g *gate) when() (at time.Time, free bool) {
	at = g.next
	if g.until.After(at) {
		at = g.until
	}
	return at, g.running < g.most
}

// begin and end note that a task began or ended, and when the next may begin.
func (g *gate) begin(now time.Time, delay time.Duration) {
	g.running++
	g.next = now.Add(delay)
}

func (g *gate) end(now time.Time, delay time.Duration) {
	g.running--
	g.next = now.Add(delay)
}

// pauseFor returns for how long err asks to leave its host alone; 0 means that it is the scheduler
// who decides. If err is about nothing of the kind, ok is false.
func pauseFor(err error) (pause time.Duration, ok bool) {
	var e *fetch.Error
	if !errors.As(err, &e) || e.Code != fetch.ErrBusy && e.RetryAfter <= 0 {
		return 0, false
	}
	return e.RetryAfter, true
}

// busy makes a pause. Tasks that were under way when the host began to refuse all tell the same:
// only the first of them counts as a failure.
func (g *gate) busy(now time.Time, asked, most time.Duration, random func(time.Duration) time.Duration) {
	pause := min(asked, most)
	if !now.Before(g.until) {
		g.failures++
		pause = pauses(most).Pause(g.failures, asked, random)
		g.most = max(g.most/2, 1)
	}
	g.good = 0
	if until := now.Add(pause); until.After(g.until) {
		g.until = until
	}
}

// well notes that a task ended well. After as many as there are at once, the host gets one more.
func (g *gate) well(now time.Time) {
	if g.failures == 0 || now.Before(g.until) {
		return // or it was under way when the host began to refuse
	}
	if g.good++; g.good < g.most {
		return
	}
	g.good = 0
	if g.most++; g.most >= g.limits.Parallel {
		g.most, g.failures = g.limits.Parallel, 0
	}
}

// idle reports whether there is nothing about the gate to remember.
func (g *gate) idle(now time.Time) bool {
	return g.running == 0 && g.failures == 0 && !now.Before(g.next) && !now.Before(g.until)
}
