package schedule

import (
	"container/list"
	"math/rand/v2"
	"sync"
	"time"
)

// The state is what waits and what runs.
type state struct {
	opts *Options
	mu   sync.Mutex // for all below
	// hosts and addresses are those with tasks, and others as long as there is something about them
	// to remember.
	hosts     map[string]*host
	addresses map[string]*address
	ring      list.List // of *host: those with waiting tasks, the one that began a task last at the end
	waiting   int       // tasks
	running   int       // tasks that are not released
	undone    int       // tasks that have begun and not ended
	next      time.Time // the earliest beginning of the next task of all
	events    int       // beginnings, ends and releases
	none      bool      // the source had no task, and is to be asked again after the next event
	wake      chan struct{}
	random    func(time.Duration) time.Duration // from 0 to below its argument
}

// A host is one name.
type host struct {
	name  gate
	queue []Task
	place *list.Element // in the ring; nil if nothing waits
	at    *address      // nil if it is not known
	lines bool          // tasks of it had a Request
}

// An address is one that hosts were met at.
type address struct {
	gate
	hosts int // that were met there
}

// maxIdle is how many hosts and addresses without tasks may be remembered; the rest is forgotten
// with its pauses and delays.
const maxIdle = 10_000

func (s *state) init(opts *Options) {
	s.opts = opts
	s.hosts, s.addresses = make(map[string]*host), make(map[string]*address)
	s.wake = make(chan struct{}, 1)
	s.random = rand.N[time.Duration]
}

// changed lets the loop look again.
func (s *state) changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *state) host(name string) *host {
	h := s.hosts[name]
	if h != nil {
		return h
	}
	s.forget()
	h = &host{}
	l := s.opts.Host
	switch {
	case name == "":
		l = Limits{Parallel: -1}
	case s.opts.Limits != nil:
		l = s.opts.Limits(name).or(l)
	}
	h.name.setLimits(l, s.opts.Parallel)
	s.hosts[name] = h
	return h
}

// forget drops hosts that nothing is to be remembered of if there are many, and others if there are
// far too many.
func (s *state) forget() {
	if len(s.hosts) < 2*maxIdle+s.waiting+s.undone {
		return
	}
	now, idle := time.Now(), 0
	for name, h := range s.hosts {
		if h.place != nil || h.name.running > 0 {
			continue
		}
		if idle++; idle > maxIdle || h.name.idle(now) {
			s.leave(h)
			delete(s.hosts, name)
		}
	}
}

// leave takes h from the address where it was met.
func (s *state) leave(h *host) {
	if h.at == nil {
		return
	}
	h.at.running -= h.name.running
	h.at.hosts--
	h.at = nil
}

// met reports whether it is news that a host was met at an address.
func (s *state) met(name, where string) bool {
	if name == "" || where == "" {
		return false
	}
	h := s.host(name)
	a := s.addresses[where]
	if a != nil && h.at == a {
		return false
	}
	s.leave(h)
	if a == nil {
		s.forgetAddresses()
		a = &address{}
		a.setLimits(h.name.limits, s.opts.Parallel)
		s.addresses[where] = a
	}
	h.at = a
	s.bears(h)
	a.hosts++
	a.running += h.name.running
	if h.name.until.After(a.until) {
		a.until = h.name.until
	}
	return true
}

// bears lets an address have as much at once as h, which is there.
func (s *state) bears(h *host) {
	if l := h.name.limits; h.at != nil && l.Parallel > h.at.limits.Parallel {
		h.at.setLimits(Limits{l.Parallel, h.at.limits.Delay}, s.opts.Parallel)
	}
}

// forgetAddresses drops those whose hosts were all forgotten, or moved on, if there are many.
func (s *state) forgetAddresses() {
	if len(s.addresses) < 2*len(s.hosts)+maxIdle {
		return
	}
	for where, a := range s.addresses {
		if a.hosts == 0 {
			delete(s.addresses, where)
		}
	}
}

// gates returns those that the tasks of h pass.
func (h *host) gates() []*gate {
	if h.at == nil {
		return []*gate{&h.name}
	}
	return []*gate{&h.name, &h.at.gate}
}

func (s *state) failed(name string, err error) {
	if asked, ok := pauseFor(err); ok && name != "" {
		now := time.Now()
		for _, g := range s.host(name).gates() {
			g.busy(now, asked, s.opts.MaxPause, s.random)
		}
	}
}

// room reports whether more tasks of a host may wait.
func (s *state) room(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[name]
	return h == nil || len(h.queue) < s.share(h, time.Now())
}

// Rests returns until when a host is left alone; a time in the past if it is not.
func (s *Scheduler) Rests(host string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[host]
	if h == nil {
		return time.Time{}
	}
	at, _ := h.when()
	return at
}

// share returns how many tasks of a host may wait: at least one, and less than all that may if there
// is room for several. Of a host that cannot begin one now there are no more than it does at once,
// so that many hosts that are left alone do not keep others from being asked; but where tasks are
// done in lines, those that follow have to be known while others run.
func (s *state) share(h *host, now time.Time) int {
	most := max(2, s.opts.Waiting/10)
	if at, free := h.when(); !free && !h.lines || at.After(now) {
		most = min(most, max(2, h.name.limits.Parallel))
	}
	return max(1, min(most, s.opts.Waiting/3))
}

// add puts t behind those of its host that wait.
func (s *state) add(t Task) {
	h := s.host(t.Host)
	h.lines = h.lines || t.Request != nil && s.opts.Pipeline != nil
	h.queue = append(h.queue, t)
	s.waiting++
	if h.place == nil {
		h.place = s.ring.PushBack(h)
	}
}

// drop forgets the tasks that wait.
func (s *state) drop() {
	for e := s.ring.Front(); e != nil; e = s.ring.Front() {
		h := s.ring.Remove(e).(*host)
		h.queue, h.place = nil, nil
	}
	s.waiting = 0
}

// take returns the task that is next, whose place is then taken. If none can begin now it returns
// nil and when one may, unless something else happens before; zero if only that helps.
func (s *state) take(now time.Time) (t *running, later time.Time) {
	if s.running >= s.opts.Parallel {
		return nil, time.Time{}
	}
	if now.Before(s.next) && s.waiting > 0 {
		return nil, s.next
	}
	for e := s.ring.Front(); e != nil; e = e.Next() {
		h := e.Value.(*host)
		at, free := h.when()
		switch {
		case !free:
			continue
		case at.After(now):
			if later.IsZero() || at.Before(later) {
				later = at
			}
			continue
		}
		return s.begin(h, now), time.Time{}
	}
	return nil, later
}

func (h *host) when() (at time.Time, free bool) {
	at, free = h.name.when()
	if h.at != nil {
		there, freeThere := h.at.when()
		if there.After(at) {
			at = there
		}
		free = free && freeThere
	}
	return at, free
}

func (s *state) begin(h *host, now time.Time) *running {
	t := h.queue[0]
	h.queue[0] = Task{}
	if h.queue = h.queue[1:]; len(h.queue) == 0 {
		s.leaveRing(h)
	} else {
		s.ring.MoveToBack(h.place)
	}
	return s.begun(h, t, now)
}

// leaveRing takes a host without waiting tasks from those that have some.
func (s *state) leaveRing(h *host) {
	if h.place != nil {
		s.ring.Remove(h.place)
		h.queue, h.place = nil, nil
	}
}

// begun gives a task that no longer waits its place.
func (s *state) begun(h *host, task Task, now time.Time) *running {
	t := &running{Task: task, state: s, of: h}
	s.waiting--
	s.running++
	s.undone++
	s.events++
	s.next = now.Add(s.opts.Interval)
	for _, g := range h.gates() {
		g.begin(now, s.delay(g))
	}
	return t
}

// delay returns how long the next task of a gate has to wait.
func (s *state) delay(g *gate) time.Duration {
	d := g.limits.Delay
	if s.opts.RandomDelay && d > 0 {
		d = d/2 + s.random(d)
	}
	return d
}

// A running task has a place until it is released.
type running struct {
	Task
	state    *state
	of       *host
	line     *line // nil if there is none
	released bool
}

// release gives the task's place to others.
func (r *running) release() {
	s := r.state
	s.mu.Lock()
	defer s.mu.Unlock()
	r.give()
	s.giveBack(r.line)
	s.changed()
}

func (r *running) give() {
	if r.released {
		return
	}
	r.released = true
	s, now := r.state, time.Now()
	s.running--
	s.events++
	for _, g := range r.of.gates() {
		g.end(now, s.delay(g))
	}
}

// end notes how the task ended.
func (r *running) end(err error) {
	s := r.state
	if err != nil {
		s.failed(r.Host, err)
	} else {
		for _, g := range r.of.gates() {
			g.well(time.Now())
		}
	}
	r.give()
	s.undone--
	s.events++
}
