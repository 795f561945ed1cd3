package schedule

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
)

var (
	simulations = flag.Uint64("simulations", 100, "number of networks that TestSimulation simulates")
	seedFlag    = flag.Uint64("seed", 0, "simulate only the network of this seed")
)

// TestSimulation runs the scheduler on networks of simulated hosts, each generated from a seed.
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, last := uint64(1), *simulations
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		ok := true
		synctest.Test(t, func(t *testing.T) {
			sim := newSimulation(seed)
			sim.run()
			if ok = len(sim.failures) == 0; !ok {
				t.Errorf("seed %d; to reproduce: go test ./crawl/schedule -run Simulation -seed %d\n%v",
					seed, seed, errors.Join(sim.failures[:min(len(sim.failures), 10)]...))
			}
		})
		if !ok {
			return
		}
	}
}

// A simulation has a network, a scheduler, and a source with the tasks of all hosts, like the queue
// of a crawl.
type simulation struct {
	*Scheduler
	rand        *rand.Rand
	hosts       []*simulated
	addresses   []*machine
	tasksLeft   int           // tasks that are not complete
	interrupt   time.Duration // time of the interruption; 0 for none
	activeTasks int
	ended       bool
	lines       int // lines that have not ended
	failures    []error
}

// A machine is the server at one address.
type machine struct {
	name         string
	running      int
	accepts      int       // concurrent tasks that it accepts
	refusesUntil time.Time // it refuses all tasks until then
	failedAt     time.Time // time of the last Failed
	requested    time.Time // end of the requested pause
}

// A simulated host has one name.
type simulated struct {
	*machine
	name         string
	limits       Limits
	addressSetAt time.Time // time of the first SetAddress
	running      int
	latency      time.Duration
	waiting      []*simulatedTask // tasks in the source
	scheduled    int              // tasks in the scheduler that have not started
	lastStart    time.Time        // start of the last task
	lastEnd      time.Time        // end of the last task
	// readySince is the time from which the host could have started its next task; it is zero if
	// the host cannot start one. overtaken counts the tasks of each other host that have started
	// readySince then.
	readySince time.Time
	overtaken  map[*simulated]int
}

type simulatedTask struct {
	attempt int
	done    bool
}

func newSimulation(seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &simulation{rand: r}
	intBetween := func(low, high int) int { return low + r.IntN(high-low+1) }
	if r.IntN(4) == 0 {
		s.interrupt = time.Duration(intBetween(1, 20_000)) * time.Millisecond
	}
	opts := &Options{
		Parallel:    intBetween(1, 12),
		Host:        Limits{Parallel: intBetween(-1, 6)},
		RandomDelay: r.IntN(2) == 0,
		MaxPause:    time.Duration(intBetween(1, 60)) * time.Second,
		Waiting:     intBetween(1, 60),
	}
	if r.IntN(3) == 0 {
		opts.Host.Delay = time.Duration(intBetween(1, 2000)) * time.Millisecond
	}
	if seed%2 == 0 {
		opts.Pipeline = s.pipeline
	}
	s.Scheduler = New(opts)
	s.random = func(n time.Duration) time.Duration { return time.Duration(r.Int64N(int64(n))) }
	for i := range intBetween(1, 9) {
		m := &machine{name: fmt.Sprint("address ", i), accepts: 1 << 30}
		if r.IntN(2) == 0 {
			m.accepts = intBetween(1, 5)
		}
		s.addresses = append(s.addresses, m)
	}
	for i := range intBetween(1, 12) {
		h := &simulated{name: fmt.Sprint("host ", i), machine: s.addresses[r.IntN(len(s.addresses))],
			latency: time.Duration(intBetween(0, 500)) * time.Millisecond, limits: s.opts.Host}
		if r.IntN(5) == 0 {
			h.limits = Limits{Parallel: intBetween(1, 3), Delay: time.Duration(intBetween(0, 3000)) * time.Millisecond}.or(s.opts.Host)
			s.SetLimits(h.name, h.limits)
		}
		for range intBetween(0, 30) {
			h.waiting = append(h.waiting, &simulatedTask{})
		}
		s.tasksLeft += len(h.waiting)
		s.hosts = append(s.hosts, h)
	}
	return s
}

func (s *simulation) fail(format string, args ...any) {
	s.failures = append(s.failures, fmt.Errorf(format, args...))
}

func (s *simulation) run() {
	ctx := context.Background()
	if s.interrupt > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.interrupt)
		defer cancel()
	}
	err := s.Run(ctx, s.next)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	switch {
	case err != nil && s.interrupt == 0, err != nil && ctx.Err() == nil:
		s.fail("Run: %v", err)
	case err == nil && s.tasksLeft > 0:
		s.fail("%d tasks are not complete", s.tasksLeft)
	case s.lines != 0:
		s.fail("%d lines have not ended", s.lines)
	case s.state.active != 0 || s.running != 0 || s.state.waiting != 0:
		s.fail("%d tasks active, %d running, %d waiting after Run", s.state.active, s.running, s.state.waiting)
	}
	for _, h := range s.hosts {
		if h.running != 0 || s.host(h.name).name.running != 0 {
			s.fail("%s has %d running tasks; the scheduler counts %d", h.name, h.running, s.host(h.name).name.running)
		}
		if err == nil && (len(h.waiting) > 0 || h.scheduled > 0) {
			s.fail("%s has %d tasks in the source and %d in the scheduler", h.name, len(h.waiting), h.scheduled)
		}
	}
	for where, a := range s.state.addresses {
		if a.running != 0 {
			s.fail("the scheduler counts %[2]d running tasks at %[1]s", where, a.running)
		}
	}
}

// next is the source of the scheduler.
func (s *simulation) next(_ context.Context, room func(string) bool) (Task, error) {
	for _, i := range s.perm() {
		h := s.hosts[i]
		if !room(h.name) {
			continue
		}
		s.mu.Lock()
		if len(h.waiting) > 0 {
			t := h.waiting[0]
			h.waiting = h.waiting[1:]
			h.scheduled++
			s.mu.Unlock()
			task := Task{Host: h.name, Do: func(ctx context.Context) error { return s.do(ctx, h, t) }}
			if i%3 < 2 {
				task.Request = &fetch.Request{View: h.name}
			}
			return task, nil
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasksLeft == 0 {
		return Task{}, io.EOF
	}
	return Task{}, ErrNone
}

func (s *simulation) perm() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rand.Perm(len(s.hosts))
}

// do runs a task of h.
func (s *simulation) do(ctx context.Context, h *simulated, t *simulatedTask) error {
	s.mu.Lock()
	refused, requested := s.taskStarts(h, t)
	duration := h.latency + time.Duration(s.rand.IntN(100))*time.Millisecond
	releases := s.rand.IntN(10) == 0
	s.mu.Unlock()
	s.SetAddress(h.name, h.machine.name)
	s.checkUpcoming(ctx, h)
	var err error
	if refused {
		err = &fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: requested}
		s.Failed(h.name, err)
		s.locked(func() { h.failedAt, h.requested = time.Now(), time.Now().Add(min(requested, s.opts.MaxPause)) })
		duration = time.Millisecond
	}
	s.locked(func() {
		if h.addressSetAt.IsZero() {
			h.addressSetAt = time.Now()
		}
	})
	select {
	case <-time.After(duration):
	case <-ctx.Done():
		err = fetch.ContextError(ctx)
	}
	s.mu.Lock()
	h.running--
	h.machine.running--
	s.activeTasks--
	h.lastEnd = time.Now()
	s.mu.Unlock()
	if releases {
		s.Release(ctx)
		s.Release(ctx)
		time.Sleep(duration)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		t.done = true
		s.tasksLeft--
		return nil
	case refused:
		t.attempt++
		h.waiting = append(h.waiting, t)
	}
	return err
}

type simulatedLine struct{}

// pipeline implements Options.Pipeline.
func (s *simulation) pipeline(ctx context.Context, next func() []*fetch.Request) (context.Context, func()) {
	s.locked(func() { s.lines++ })
	return context.WithValue(ctx, simulatedLine{}, next), func() { s.locked(func() { s.lines-- }) }
}

// checkUpcoming checks the upcoming requests that a task of h receives.
func (s *simulation) checkUpcoming(ctx context.Context, h *simulated) {
	next, ok := ctx.Value(simulatedLine{}).(func() []*fetch.Request)
	if !ok {
		return
	}
	all := next()
	if len(all) > maxLine {
		s.locked(func() { s.fail("%d upcoming requests", len(all)) })
	}
	for _, req := range all {
		if req.View != h.name {
			s.locked(func() { s.fail("line of %s contains a task of %s", h.name, req.View) })
		}
	}
}

// taskStarts checks that a task may start now and returns the reply of the machine.
func (s *simulation) taskStarts(h *simulated, t *simulatedTask) (refused bool, requested time.Duration) {
	now := time.Now()
	h.scheduled--
	h.running++
	h.machine.running++
	s.activeTasks++
	limit := h.limits.Parallel
	if limit < 0 {
		limit = s.opts.Parallel
	}
	delay := max(h.limits.Delay, 0)
	if s.opts.RandomDelay {
		delay /= 2
	}
	switch {
	case s.ended:
		s.fail("a task of %s starts after Run has returned", h.name)
	case t.done:
		s.fail("a task of %s runs again after it succeeded", h.name)
	case h.running > limit:
		s.fail("%d concurrent tasks of %s, limit %d", h.running, h.name, limit)
	case s.activeTasks > s.opts.Parallel:
		s.fail("%d concurrent tasks, limit %d", s.activeTasks, s.opts.Parallel)
	case !h.lastStart.IsZero() && now.Before(h.lastStart.Add(delay)):
		s.fail("%s: %v between starts, want %v", h.name, now.Sub(h.lastStart), delay)
	case h.lastEnd.Before(now) && !h.lastEnd.IsZero() && now.Before(h.lastEnd.Add(delay)): // starts and ends at the same instant have no order
		s.fail("%s: start %v after an end, want %v", h.name, now.Sub(h.lastEnd), delay)
	case now.Before(h.requested) && h.failedAt.Before(now) && !h.addressSetAt.IsZero() && h.addressSetAt.Before(now):
		s.fail("%s: task starts %v before the end of its pause", h.name, h.requested.Sub(now))
	}
	h.lastStart = now
	s.checkFairness(h)
	switch m := h.machine; {
	case now.Before(m.refusesUntil) || m.running > m.accepts:
		refused = true
	case m.accepts < 1<<30 && s.rand.IntN(12) == 0:
		m.refusesUntil = now.Add(time.Duration(s.rand.IntN(5000)) * time.Millisecond)
		refused = true
	}
	if refused && s.rand.IntN(2) == 0 {
		requested = time.Duration(s.rand.IntN(90)) * time.Second
	}
	return refused, requested
}

// checkFairness checks that no other host that is ready waits while h starts several tasks.
func (s *simulation) checkFairness(h *simulated) {
	now := time.Now()
	h.readySince, h.overtaken = time.Time{}, nil
	for _, other := range s.hosts {
		if other == h {
			continue
		}
		known := s.state.hosts[other.name]
		if known == nil || known.elem == nil {
			other.readySince, other.overtaken = time.Time{}, nil
			continue
		}
		if at, free := known.nextStart(); !free || at.After(now) {
			other.readySince, other.overtaken = time.Time{}, nil
			continue
		}
		if other.readySince.IsZero() {
			other.readySince, other.overtaken = now, make(map[*simulated]int)
			continue
		}
		if !other.readySince.Before(now) {
			continue // tasks that start at the same instant have no order
		}
		if other.overtaken[h]++; other.overtaken[h] > 2 {
			s.fail("%s started %d tasks while %s waited for %v", h.name, other.overtaken[h], other.name, now.Sub(other.readySince))
		}
	}
}

func (s *simulation) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}
