// Package schedule decides which of many jobs runs next, so that no host gets more than it bears
// and none waits for another.
//
// A [Source] has the tasks. A [Scheduler] asks it whenever it has room for more, so that neither a
// list of millions nor a crawl without end is ever in memory. Each host has a limit of tasks at
// once and a delay between them. A host that is busy, or that asks to come back later, is left
// alone for as long as it asks, or longer each time, and then gets less at once until it has
// recovered. Among the hosts that can be asked, the one that has waited longest is next.
//
// The scheduler knows hosts and the errors of tasks, and nothing of protocols: connections, sessions
// and streams are the affair of the drivers.
package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A Task is one thing to do with one host.
type Task struct {
	// Host is whose limits apply, as in uri.URI.Host. Tasks without one have only those of all
	// together.
	Host string
	// Do does it. A *fetch.Error that says that the host is busy, or when to come back, pauses the
	// host; nil says that the host bears its load. Other errors, such as ErrNoVerdict, say neither.
	Do func(ctx context.Context) error
	// Request is what Do asks for first, if that can be sent ahead (fetch.Scheme.Pipelined), or nil.
	Request *fetch.Request
}

// A Source has the tasks that wait.
type Source interface {
	// Next returns a task, io.EOF if there are and will be none, or ErrNone if there are none now:
	// it is then asked again when a task began, ended or was released. Any other error is that of
	// Run, once the tasks that were returned before have ended.
	//
	// A source that holds the tasks of many hosts should leave out those of a host for which room
	// returns false: enough of them are waiting in the scheduler. One that has an order need not
	// care. Next may wait, but not beyond the end of ctx. Calls do not overlap.
	Next(ctx context.Context, room func(host string) bool) (Task, error)
}

// A SourceFunc is a function as a Source.
type SourceFunc func(ctx context.Context, room func(host string) bool) (Task, error)

// Next implements Source.
func (f SourceFunc) Next(ctx context.Context, room func(host string) bool) (Task, error) {
	return f(ctx, room)
}

// ErrNone is what a Source returns that may have more tasks later.
var ErrNone = errors.New("schedule: no task now")

// ErrNoVerdict is what Task.Do returns if the task says nothing about its host, such as one that sent
// no request.
var ErrNoVerdict = errors.New("schedule: no verdict")

// Limits are what one host bears. Zero fields mean the defaults of Options.
type Limits struct {
	Parallel int // tasks at once; less than 0 means as many as there may be of all hosts together
	// Delay is the least time from the beginning and from the end of a task to the beginning of the
	// next one; less than 0 means none.
	Delay time.Duration
}

// Options say how much is done at once. Nil means the defaults.
type Options struct {
	Parallel int // tasks at once; 0 means 4
	// Host is what a host bears that nothing else is said of. Its zero fields mean 2 at once and no
	// delay.
	Host Limits
	// Limits, if not nil, returns the limits of one host, when its first task arrives. It must not
	// wait.
	Limits func(host string) Limits
	// RandomDelay makes each delay a random one from half to one and a half of what it would be.
	RandomDelay bool
	// Interval is the least time between the beginnings of any two tasks; 0 means none.
	Interval time.Duration
	// MaxPause bounds how long a host that is busy is left alone, whatever it asks for; 0 means a
	// minute.
	MaxPause time.Duration
	// Waiting is how many tasks may wait in the scheduler, of all hosts together; 0 means 1,000. At
	// most a tenth of them should be of one host if there are others, and of one that is left alone
	// no more than it does at once; but two at least, or one if Waiting is less than 6. So half as
	// many hosts as Waiting can be left alone without keeping others from being asked.
	Waiting int
	// Pipeline, if not nil, is fetch.Client.Pipeline. Then tasks of one host that have a Request are
	// done one after the other by the same worker, as far as limits allow and no other host is kept
	// waiting, so that their requests can be sent ahead.
	Pipeline func(ctx context.Context, next func() []*fetch.Request) (context.Context, func())
}

const (
	defaultParallel = 4
	defaultPerHost  = 2
	defaultMaxPause = time.Minute
	defaultWaiting  = 1000
)

// A Scheduler runs tasks. It remembers the hosts from one Run to the next, but only one Run may go
// on at a time. All other methods may be called by any goroutine at any time, also by tasks.
type Scheduler struct {
	opts Options
	state
}

// New returns a scheduler. It starts no goroutine.
func New(opts *Options) *Scheduler {
	s := &Scheduler{}
	if opts != nil {
		s.opts = *opts
	}
	o := &s.opts
	o.Parallel = positive(o.Parallel, defaultParallel)
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

// or returns l with the fields of other in place of zero ones.
func (l Limits) or(other Limits) Limits {
	if l.Parallel == 0 {
		l.Parallel = other.Parallel
	}
	if l.Delay == 0 {
		l.Delay = other.Delay
	}
	return l
}

// SetLimits changes what a host bears, such as to the Crawl-delay of its robots.txt.
func (s *Scheduler) SetLimits(host string, l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.host(host)
	limits, most := h.name.limits, h.name.most
	h.name.setLimits(l.or(s.opts.Host), s.opts.Parallel)
	s.bears(h)
	if h.name.limits != limits || h.name.most != most { // else the loop is left asleep
		s.changed()
	}
}

// Met tells at which address a host was met, without a port. Hosts at the same address are the same
// machine: together they get no more at once than the one that bears most, and pauses are for all
// of them. It is not to be called with the address of a proxy.
func (s *Scheduler) Met(host, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.met(host, address) {
		s.changed()
	}
}

// Failed tells of a failure of a task that is not over, such as a try that is followed by another:
// if err is an *fetch.Error that says so, the host is left alone for a while. Of how tasks end the
// scheduler learns by itself.
func (s *Scheduler) Failed(host string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed(host, err)
	s.changed()
}

type taskKey struct{}

// Release ends the task whose Do was given ctx as far as limits are concerned. It is for tasks that
// go on without the host, or by bringing other tasks, such as those of an open listing, which would
// else wait for the task's own place. Run still waits for Do to return. For other contexts it does
// nothing.
func Release(ctx context.Context) {
	if r, ok := ctx.Value(taskKey{}).(*running); ok {
		r.release()
	}
}
