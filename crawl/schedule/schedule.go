// Package schedule chooses the next of many tasks and limits the load on each host. A slow host
// does not delay other hosts.
//
// A source supplies the tasks. A [Scheduler] reads from it only while it has room, so that neither
// a long list nor an endless crawl fills the memory. Each host has a limit of concurrent tasks and
// a delay between them. If a host is busy or sends Retry-After, the scheduler pauses it.
// Consecutive pauses grow, and the host then gets fewer concurrent tasks until it has recovered. Of
// all hosts that are ready, the one that has waited longest is next.
//
// Where growth is allowed, the scheduler starts with few tasks at once and adds more while a host
// keeps up.
//
// The scheduler knows only hosts and errors. Connections, sessions and streams are left to the
// drivers.
package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A Task is a unit of work for one host.
type Task struct {
	// Host is the host whose limits apply, in the form of uri.URI.Host. If it is empty, only the
	// limits for all hosts together apply.
	Host string
	// Do runs the task. If it returns a *fetch.Error for a busy host or with RetryAfter, the host
	// is paused. Nil counts as a success of the host. Other errors, such as ErrNoVerdict, have no
	// effect on the host.
	Do func(ctx context.Context) error
	// Request is the first request of Do if it can be pipelined (fetch.Scheme.Pipelined), or nil.
	Request *fetch.Request
}

// ErrNone is returned by the source of Run if it has no tasks now, but may have some later.
var ErrNone = errors.New("schedule: no task now")

// ErrNoVerdict is returned by Task.Do if the outcome says nothing about the host, for example
// because no request was sent.
var ErrNoVerdict = errors.New("schedule: no verdict")

// Limits are the limits of one host. Zero fields mean the defaults of Options.
type Limits struct {
	Parallel int // tasks at once; if negative, only Options.Parallel and Options.Grow apply
	// Grow, if it is larger than Parallel, is the number to which the tasks at once grow while the
	// host keeps up: each success adds some. A busy host, a refused or lost connection and slower
	// responses end the growth.
	Grow int
	// Delay is the minimum time between the start or end of a task and the start of the next one.
	// If it is negative, there is no delay.
	Delay time.Duration
}

// Options configure a Scheduler. A nil *Options means the defaults.
type Options struct {
	Parallel int // tasks at once; 0 means 4
	// Grow, if it is larger than Parallel, is the number to which the tasks at once grow with each
	// success.
	Grow int
	// Host has the default limits of a host. Its zero fields mean 2 tasks at once and no delay.
	Host Limits
	// Limits, if not nil, returns the limits of a host. It is called for the first task of the host
	// and must not block.
	Limits func(host string) Limits
	// RandomDelay multiplies each delay by a random factor from 0.5 to 1.5.
	RandomDelay bool
	// MaxPause limits the pause of a busy host, even if the host requests a longer one. 0 means a
	// minute.
	MaxPause time.Duration
	// Waiting limits the tasks queued in the scheduler, of all hosts together; 0 means 1,000. If
	// there are several hosts, each may have a tenth of them. A paused host may queue only as many
	// as it runs at once. Each may have at least two, or one if Waiting is less than 6. Half as
	// many hosts as Waiting can therefore be paused without blocking others.
	Waiting int
	// Pipeline, if not nil, is fetch.Client.Pipeline. One worker then runs tasks of a host that
	// have a Request one after another, so that their requests can be pipelined. It does so as far
	// as limits allow and while no other host is ready.
	Pipeline func(ctx context.Context, next func() []*fetch.Request) (context.Context, func())
}

const (
	defaultParallel = 4
	defaultPerHost  = 2
	defaultMaxPause = time.Minute
	defaultWaiting  = 1000
)

// A Scheduler runs tasks. It remembers hosts between calls of Run, which must not overlap. All
// other methods are safe for concurrent use, also by tasks.
type Scheduler struct {
	opts Options
	state
}

// New returns a Scheduler. It starts no goroutine.
func New(opts *Options) *Scheduler {
	s := &Scheduler{}
	if opts != nil {
		s.opts = *opts
	}
	o := &s.opts
	o.Parallel = positive(o.Parallel, defaultParallel)
	o.Grow = max(o.Grow, o.Parallel)
	o.MaxPause = positive(o.MaxPause, defaultMaxPause)
	o.Waiting = positive(o.Waiting, defaultWaiting)
	o.Host = o.Host.or(Limits{Parallel: defaultPerHost})
	s.state.init(o)
	return s
}

func positive[T int | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}

// or returns l with its zero fields replaced by those of other.
func (l Limits) or(other Limits) Limits {
	if l.Parallel == 0 {
		l.Parallel = other.Parallel
	}
	if l.Delay == 0 {
		l.Delay = other.Delay
	}
	if l.Grow == 0 {
		l.Grow = other.Grow
	}
	return l
}

// SetLimits changes the limits of a host, for example to the Crawl-delay of its robots.txt.
func (s *Scheduler) SetLimits(host string, l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.host(host)
	limits, most := h.name.limits, h.name.slots
	h.name.setLimits(l.or(s.opts.Host), s.opts.Grow)
	s.raiseLimit(h)
	if h.name.limits != limits || h.name.slots != most { // otherwise the loop need not wake up
		s.wakeLoop()
	}
}

// SetAddress records the address of a host, without a port. Hosts at one address are treated as one
// machine: together they run no more tasks than the host with the highest limit, and a pause
// applies to all of them. SetAddress must not be called with the address of a proxy.
func (s *Scheduler) SetAddress(host, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.setAddress(host, address) {
		s.wakeLoop()
	}
}

// Failed records a failed attempt of a task that will be retried. If err is a *fetch.Error for a
// busy host or with RetryAfter, the host is paused. Final outcomes are recorded by the scheduler
// itself.
func (s *Scheduler) Failed(host string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed(host, err)
	s.wakeLoop()
}

type taskKey struct{}

// Release frees the slot of the task whose Do received ctx. It is for tasks that continue without
// using the host, or that supply other tasks, such as those of an open listing, which could
// otherwise wait for this slot. Run still waits for Do to return. For other contexts, Release does
// nothing.
func (*Scheduler) Release(ctx context.Context) {
	if r, ok := ctx.Value(taskKey{}).(*running); ok {
		r.release()
	}
}
