package schedule

import (
	"container/list"
	"math/rand/v2"
	"sync"
	"time"
)

type state struct {
	opts *Options
	mu   sync.Mutex // protects the fields below
	// hosts and addresses include idle ones that have pauses or delays to remember.
	hosts       map[string]*host
	addresses   map[string]*address
	ring        list.List // of *host with queued tasks; the host that started a task last is at the back
	waiting     int       // queued tasks
	parallel    int       // tasks at once; grows to opts.Grow
	running     int       // tasks that are not released
	active      int       // tasks that have started and not ended
	events      int       // count of starts, ends and releases
	sourceEmpty bool      // the source had no task; it is called again after the next event
	wake        chan struct{}
	random      func(time.Duration) time.Duration // returns a value from 0 to below its argument
}

type host struct {
	name      gate
	queue     []Task
	elem      *list.Element // in the ring; nil if nothing is queued
	address   *address      // nil if unknown
	pipelined bool          // it had tasks with a Request
}

// An address is the network address of one or more hosts.
type address struct {
	gate
	hosts int // number of hosts at the address
}

// maxIdle limits the idle hosts and addresses. Others are forgotten with their pauses and delays.
const maxIdle = 10_000

func (s *state) init(opts *Options) {
	s.opts, s.parallel = opts, opts.Parallel
	s.hosts, s.addresses = make(map[string]*host), make(map[string]*address)
	s.wake = make(chan struct{}, 1)
	s.random = rand.N[time.Duration]
}

func (s *state) wakeLoop() {
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
	h.name.setLimits(l, s.opts.Grow)
	s.hosts[name] = h
	return h
}

// forget drops idle hosts if there are many, and even those with pauses and delays if there are too
// many.
func (s *state) forget() {
	if len(s.hosts) < 2*maxIdle+s.waiting+s.active {
		return
	}
	now, idle := time.Now(), 0
	for name, h := range s.hosts {
		if h.elem != nil || h.name.running > 0 {
			continue
		}
		if idle++; idle > maxIdle || h.name.isIdle(now) {
			s.removeFromAddress(h)
			delete(s.hosts, name)
		}
	}
}

func (s *state) removeFromAddress(h *host) {
	if h.address == nil {
		return
	}
	h.address.running -= h.name.running
	h.address.hosts--
	h.address = nil
}

func (s *state) setAddress(name, where string) bool {
	if name == "" || where == "" {
		return false
	}
	h := s.host(name)
	a := s.addresses[where]
	if a != nil && h.address == a {
		return false
	}
	s.removeFromAddress(h)
	if a == nil {
		s.forgetAddresses()
		a = &address{}
		a.setLimits(h.name.limits, s.opts.Grow)
		s.addresses[where] = a
	}
	h.address = a
	s.raiseLimit(h)
	a.hosts++
	a.running += h.name.running
	if h.name.until.After(a.until) {
		a.until = h.name.until
	}
	return true
}

// raiseLimit raises the limit of the address of h to that of h.
func (s *state) raiseLimit(h *host) {
	if h.address == nil {
		return
	}
	l, of := h.name.limits, h.address.limits
	if l.Parallel > of.Parallel || l.Grow > of.Grow {
		h.address.setLimits(Limits{max(l.Parallel, of.Parallel), max(l.Grow, of.Grow), of.Delay}, s.opts.Grow)
	}
}

// forgetAddresses drops addresses that no longer have hosts, if there are many.
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

// gates returns the gates that limit the tasks of h.
func (h *host) gates() []*gate {
	if h.address == nil {
		return []*gate{&h.name}
	}
	return []*gate{&h.name, &h.address.gate}
}

func (s *state) failed(name string, err error) {
	if requested, ok := pauseFor(err); ok && name != "" {
		now := time.Now()
		for _, g := range s.host(name).gates() {
			g.pause(now, requested, s.opts.MaxPause, s.random)
		}
	} else if isOverload(err) && name != "" {
		for _, g := range s.host(name).gates() {
			g.shrink(time.Now())
		}
	}
}

// room reports whether more tasks of a host may be queued.
func (s *state) room(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[name]
	return h == nil || len(h.queue) < s.maxQueued(h, time.Now())
}

// PausedUntil returns the end of the pause or delay of a host, which may be in the past. It is zero
// if the host is unknown.
func (s *Scheduler) PausedUntil(host string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[host]
	if h == nil {
		return time.Time{}
	}
	at, _ := h.nextStart()
	return at
}

// maxQueued returns the number of tasks of a host that may be queued. A host that cannot start one
// now gets only as many as it runs at once, so that paused hosts do not block others. This does not
// apply to pipelined tasks, because the next ones must be known while others run.
func (s *state) maxQueued(h *host, now time.Time) int {
	most := max(2, s.opts.Waiting/10)
	if at, free := h.nextStart(); !free && !h.pipelined || at.After(now) {
		most = min(most, max(2, h.name.limits.Grow))
	}
	return max(1, min(most, s.opts.Waiting/3))
}

// add appends t to the queue of its host.
func (s *state) add(t Task) {
	h := s.host(t.Host)
	h.pipelined = h.pipelined || t.Request != nil && s.opts.Pipeline != nil
	h.queue = append(h.queue, t)
	s.waiting++
	if h.elem == nil {
		h.elem = s.ring.PushBack(h)
	}
}

func (s *state) drop() {
	for e := s.ring.Front(); e != nil; e = s.ring.Front() {
		h := s.ring.Remove(e).(*host)
		h.queue, h.elem = nil, nil
	}
	s.waiting = 0
}

// take starts the next task that is due. If there is none, it returns nil and the time when one
// will be due. The time is zero if another event must occur first.
func (s *state) take(now time.Time) (t *running, nextDue time.Time) {
	if s.running >= s.parallel {
		return nil, time.Time{}
	}
	for e := s.ring.Front(); e != nil; e = e.Next() {
		h := e.Value.(*host)
		at, free := h.nextStart()
		switch {
		case !free:
			continue
		case at.After(now):
			if nextDue.IsZero() || at.Before(nextDue) {
				nextDue = at
			}
			continue
		}
		return s.startNext(h, now), time.Time{}
	}
	return nil, nextDue
}

func (h *host) nextStart() (at time.Time, free bool) {
	at, free = h.name.nextStart()
	if h.address != nil {
		addressStart, addressFree := h.address.nextStart()
		if addressStart.After(at) {
			at = addressStart
		}
		free = free && addressFree
	}
	return at, free
}

func (s *state) startNext(h *host, now time.Time) *running {
	t := h.queue[0]
	h.queue[0] = Task{}
	if h.queue = h.queue[1:]; len(h.queue) == 0 {
		s.removeFromRing(h)
	} else {
		s.ring.MoveToBack(h.elem)
	}
	return s.markRunning(h, t, now)
}

func (s *state) removeFromRing(h *host) {
	if h.elem != nil {
		s.ring.Remove(h.elem)
		h.queue, h.elem = nil, nil
	}
}

func (s *state) markRunning(h *host, task Task, now time.Time) *running {
	t := &running{Task: task, state: s, of: h, started: now}
	s.waiting--
	s.running++
	s.active++
	s.events++
	for _, g := range h.gates() {
		g.begin(now, s.delay(g))
	}
	return t
}

func (s *state) delay(g *gate) time.Duration {
	d := g.limits.Delay
	if s.opts.RandomDelay && d > 0 {
		d = d/2 + s.random(d)
	}
	return d
}

// A running task occupies a slot until it is released.
type running struct {
	Task
	state    *state
	of       *host
	line     *line // nil if there is none
	released bool
	started  time.Time
}

func (r *running) release() {
	s := r.state
	s.mu.Lock()
	defer s.mu.Unlock()
	r.freeSlot()
	s.returnTasks(r.line)
	s.wakeLoop()
}

func (r *running) freeSlot() {
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

// end records the outcome of the task and frees its slot.
func (r *running) end(err error) {
	s := r.state
	if err != nil {
		s.failed(r.Host, err)
	} else {
		now := time.Now()
		for _, g := range r.of.gates() {
			g.succeeded(now, now.Sub(r.started))
		}
		s.parallel = min(s.parallel+growth, s.opts.Grow)
	}
	r.freeSlot()
	s.active--
	s.events++
}
