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

var seedFlag = flag.Uint64("seed", 0, "simulate only the network of this seed")

// TestSimulation runs the scheduler on networks of simulated hosts, each generated from a seed.
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, last := uint64(1), uint64(1000)
	if testing.Short() {
		last = 100
	}
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		ok := true
		synctest.Test(t, func(t *testing.T) {
			sim := newSimulation(seed)
			sim.run()
			if ok = len(sim.wrong) == 0; !ok {
				t.Errorf("seed %d, to be had again by go test ./crawl/schedule -run Simulation -seed %d:\n%v",
					seed, seed, errors.Join(sim.wrong[:min(len(sim.wrong), 10)]...))
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
	rand      *rand.Rand
	hosts     []*simulated
	addresses []*machine
	undone    int           // tasks that are not complete
	interrupt time.Duration // time of the interruption; 0 for none
	atOnce    int
	begun     time.Time // start of the last task
	over      bool
	lines     int // lines that have not ended
	wrong     []error
}

// A machine is the server at one address.
type machine struct {
	name    string
	atOnce  int
	bears   int       // concurrent tasks that it accepts
	refuses time.Time // it refuses all tasks until then
	told    time.Time // time of the last Failed
	asked   time.Time // end of the requested pause
}

// A simulated host has one name.
type simulated struct {
	*machine
	name    string
	limits  Limits
	met     time.Time // time of the first SetAddress
	atOnce  int
	latency time.Duration
	waiting []*simulatedTask // tasks in the source
	handed  int              // tasks in the scheduler that have not started
	begun   time.Time        // start of the last task
	ended   time.Time        // end of the last task
	// since is the time from which the host could have started its next task; it is zero if the
	// host cannot start one. overtaken counts the tasks of each other host that have started since
	// then.
	since     time.Time
	overtaken map[*simulated]int
}

type simulatedTask struct {
	attempt int
	done    bool
}

func newSimulation(seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &simulation{rand: r}
	between := func(low, high int) int { return low + r.IntN(high-low+1) }
	if r.IntN(4) == 0 {
		s.interrupt = time.Duration(between(1, 20_000)) * time.Millisecond
	}
	opts := &Options{
		Parallel:    between(1, 12),
		Host:        Limits{Parallel: between(-1, 6)},
		RandomDelay: r.IntN(2) == 0,
		MaxPause:    time.Duration(between(1, 60)) * time.Second,
		Waiting:     between(1, 60),
	}
	if r.IntN(3) == 0 {
		opts.Host.Delay = time.Duration(between(1, 2000)) * time.Millisecond
	}
	if r.IntN(4) == 0 {
		opts.Interval = time.Duration(between(1, 100)) * time.Millisecond
	}
	if seed%2 == 0 {
		opts.Pipeline = s.pipeline
	}
	s.Scheduler = New(opts)
	s.random = func(n time.Duration) time.Duration { return time.Duration(r.Int64N(int64(n))) }
	for i := range between(1, 9) {
		m := &machine{name: fmt.Sprint("address ", i), bears: 1 << 30}
		if r.IntN(2) == 0 {
			m.bears = between(1, 5)
		}
		s.addresses = append(s.addresses, m)
	}
	for i := range between(1, 12) {
		h := &simulated{name: fmt.Sprint("host ", i), machine: s.addresses[r.IntN(len(s.addresses))],
			latency: time.Duration(between(0, 500)) * time.Millisecond, limits: s.opts.Host}
		if r.IntN(5) == 0 {
			h.limits = Limits{Parallel: between(1, 3), Delay: time.Duration(between(0, 3000)) * time.Millisecond}.or(s.opts.Host)
			s.SetLimits(h.name, h.limits)
		}
		for range between(0, 30) {
			h.waiting = append(h.waiting, &simulatedTask{})
		}
		s.undone += len(h.waiting)
		s.hosts = append(s.hosts, h)
	}
	return s
}

func (s *simulation) fail(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Errorf(format, args...))
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
	s.over = true
	switch {
	case err != nil && s.interrupt == 0, err != nil && ctx.Err() == nil:
		s.fail("Run: %v", err)
	case err == nil && s.undone > 0:
		s.fail("%d tasks are left", s.undone)
	case s.lines != 0:
		s.fail("%d lines have not ended", s.lines)
	case s.state.active != 0 || s.running != 0 || s.state.waiting != 0:
		s.fail("%d tasks have not ended, %d run, %d wait", s.state.active, s.running, s.state.waiting)
	}
	for _, h := range s.hosts {
		if h.atOnce != 0 || s.host(h.name).name.running != 0 {
			s.fail("%s has %d tasks running, as the scheduler has it %d", h.name, h.atOnce, s.host(h.name).name.running)
		}
		if err == nil && (len(h.waiting) > 0 || h.handed > 0) {
			s.fail("%s has %d tasks waiting, and %d are handed to the scheduler", h.name, len(h.waiting), h.handed)
		}
	}
	for where, a := range s.state.addresses {
		if a.running != 0 {
			s.fail("%s has %d tasks running, as the scheduler has it", where, a.running)
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
			h.handed++
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
	if s.undone == 0 {
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
	refused, asked := s.begins(h, t)
	took := h.latency + time.Duration(s.rand.IntN(100))*time.Millisecond
	releases := s.rand.IntN(10) == 0
	s.mu.Unlock()
	s.SetAddress(h.name, h.machine.name)
	s.looksAhead(ctx, h)
	var err error
	if refused {
		err = &fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: asked}
		s.Failed(h.name, err)
		s.locked(func() { h.told, h.asked = time.Now(), time.Now().Add(min(asked, s.opts.MaxPause)) })
		took = time.Millisecond
	}
	s.locked(func() {
		if h.met.IsZero() {
			h.met = time.Now()
		}
	})
	select {
	case <-time.After(took):
	case <-ctx.Done():
		err = fetch.ContextError(ctx)
	}
	s.mu.Lock()
	h.atOnce--
	h.machine.atOnce--
	s.atOnce--
	h.ended = time.Now()
	s.mu.Unlock()
	if releases {
		s.Release(ctx)
		s.Release(ctx)
		time.Sleep(took)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		t.done = true
		s.undone--
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

// looksAhead checks the upcoming requests that a task of h receives.
func (s *simulation) looksAhead(ctx context.Context, h *simulated) {
	next, ok := ctx.Value(simulatedLine{}).(func() []*fetch.Request)
	if !ok {
		return
	}
	all := next()
	if len(all) > maxLine {
		s.locked(func() { s.fail("%d requests are to follow", len(all)) })
	}
	for _, req := range all {
		if req.View != h.name {
			s.locked(func() { s.fail("a task of %s is followed by one of %s", h.name, req.View) })
		}
	}
}

// begins checks that a task may start now and returns the reply of the machine.
func (s *simulation) begins(h *simulated, t *simulatedTask) (refused bool, asked time.Duration) {
	now := time.Now()
	h.handed--
	h.atOnce++
	h.machine.atOnce++
	s.atOnce++
	limit := h.limits.Parallel
	if limit < 0 {
		limit = s.opts.Parallel
	}
	delay := max(h.limits.Delay, 0)
	if s.opts.RandomDelay {
		delay /= 2
	}
	switch {
	case s.over:
		s.fail("a task of %s begins when all is over", h.name)
	case t.done:
		s.fail("a task of %s is done twice", h.name)
	case h.atOnce > limit:
		s.fail("%d tasks at once with %s, which bears %d", h.atOnce, h.name, limit)
	case s.atOnce > s.opts.Parallel:
		s.fail("%d tasks at once, of %d", s.atOnce, s.opts.Parallel)
	case !h.begun.IsZero() && now.Before(h.begun.Add(delay)):
		s.fail("%s is asked again after %v, not %v", h.name, now.Sub(h.begun), delay)
	case h.ended.Before(now) && !h.ended.IsZero() && now.Before(h.ended.Add(delay)): // starts and ends at the same instant have no order
		s.fail("%s is asked %v after a task of it, not %v", h.name, now.Sub(h.ended), delay)
	case now.Before(s.begun.Add(s.opts.Interval)):
		s.fail("%v between two tasks, not %v", now.Sub(s.begun), s.opts.Interval)
	case now.Before(h.asked) && h.told.Before(now) && !h.met.IsZero() && h.met.Before(now):
		s.fail("%s is asked %v before it wants to", h.name, h.asked.Sub(now))
	}
	h.begun, s.begun = now, now
	s.overtakes(h)
	switch m := h.machine; {
	case now.Before(m.refuses) || m.atOnce > m.bears:
		refused = true
	case m.bears < 1<<30 && s.rand.IntN(12) == 0:
		m.refuses = now.Add(time.Duration(s.rand.IntN(5000)) * time.Millisecond)
		refused = true
	}
	if refused && s.rand.IntN(2) == 0 {
		asked = time.Duration(s.rand.IntN(90)) * time.Second
	}
	return refused, asked
}

// overtakes checks that no other host that is ready waits while h starts several tasks.
func (s *simulation) overtakes(h *simulated) {
	now := time.Now()
	h.since, h.overtaken = time.Time{}, nil
	for _, other := range s.hosts {
		if other == h {
			continue
		}
		known := s.state.hosts[other.name]
		if known == nil || known.place == nil {
			other.since, other.overtaken = time.Time{}, nil
			continue
		}
		if at, free := known.nextStart(); !free || at.After(now) {
			other.since, other.overtaken = time.Time{}, nil
			continue
		}
		if other.since.IsZero() {
			other.since, other.overtaken = now, make(map[*simulated]int)
			continue
		}
		if !other.since.Before(now) {
			continue // tasks that start at the same instant have no order
		}
		if other.overtaken[h]++; other.overtaken[h] > 2 {
			s.fail("%s begins %d tasks, and %s none since %v ago", h.name, other.overtaken[h], other.name, now.Sub(other.since))
		}
	}
}

func (s *simulation) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}
