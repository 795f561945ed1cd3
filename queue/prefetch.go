package queue

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
)

// A prefetch buffer holds jobs whose hosts have no free lease, while jobs of other hosts run.
// Returning and taking a job again would cost more than executing it. Only the goroutine that calls
// Next uses it, except where fields say otherwise.
type prefetch struct {
	queues         []*hostQueue  // in round-robin order: the queue of the last taken job is at the end
	n              int           // number of jobs
	bytes          int           // total size of their messages
	lastReturn     time.Time     // time when a job was last returned
	returnInterval time.Duration // interval before the next return
	resume         time.Time     // when the engine is asked again after a failure
	wait           time.Duration // delay after the next failure

	fetching      bool
	cancelFetch   context.CancelFunc // ends the request for a job
	arrivals      chan arrival       // the job that the engine returned
	wake          chan struct{}      // holds a value when another job may be able to start
	leaseRequests int                // running lease requests; guarded by run.mu, as is unleased
	unleased      map[string]int     // jobs in the scheduler without a lease, by host
	requests      sync.WaitGroup     // goroutines with engine requests

	slow   map[string]time.Time // until when hosts count as slow
	passes map[Priority]*pass
	moving chan struct{} // holds a value for each job that is being moved
	// movable is when jobs may be moved again after a failure; guarded by run.mu.
	movable time.Time
}

type hostQueue struct {
	host  string
	tasks []*task

	// Guarded by the run's mu:
	requesting bool      // a lease is being requested
	blocked    bool      // the last request found no free lease
	next       time.Time // time of the next request
	wait       time.Duration
}

// An arrival is the result of Engine.Next. The delivery is already counted as unfinished, because
// the scheduler may not ask for it immediately.
type arrival struct {
	*task
	err error
}

const (
	// prefetchJobs limits the waiting jobs per running job, and prefetchBytes the total size of
	// their messages.
	prefetchJobs  = 32
	prefetchBytes = 16 << 20
	// prefetchAhead is the time for which startable jobs are kept ready, so that released leases
	// are used at once.
	prefetchAhead = 250 * time.Millisecond
	// prefetchFor is how long a job waits before it returns to the queue for other workers.
	prefetchFor = 10 * time.Second
	// minReturnInterval is the interval at which a full buffer returns a job to make room for
	// another. maxReturnInterval is the interval if the new jobs cannot start either.
	minReturnInterval = 20 * time.Millisecond
	maxReturnInterval = 100 * time.Millisecond
	// minLeaseRetry and maxLeaseRetry bound the interval between requests for a lease.
	minLeaseRetry = 20 * time.Millisecond
	maxLeaseRetry = 250 * time.Millisecond
)

func newPrefetch() *prefetch {
	return &prefetch{unleased: map[string]int{}, arrivals: make(chan arrival, 1),
		wake: make(chan struct{}, 1), wait: 100 * time.Millisecond, returnInterval: minReturnInterval,
		slow: map[string]time.Time{}, passes: map[Priority]*pass{}, moving: make(chan struct{}, maxMoving)}
}

func (l *prefetch) wakeNext() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// next is the source of the scheduler. It returns a job from the buffer or the queue.
func (r *run) next(_ context.Context, room func(string) bool) (schedule.Task, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if !r.waitUntilRunning() {
			r.returnPrefetched()
			return schedule.Task{}, io.EOF
		}
		t, ready := r.pick(room)
		if t != nil {
			return r.schedule(t), nil
		}
		if !ready {
			r.requestLeases()
		}
		timer.Reset(time.Until(r.requestJob()))
		select {
		case a := <-r.prefetch.arrivals:
			r.prefetch.fetching = false
			t, err := r.addArrival(a)
			if err != nil {
				return schedule.Task{}, err
			}
			if t != nil {
				return r.schedule(t), nil
			}
		case <-r.prefetch.wake:
		case <-timer.C:
		case <-r.soft.Done():
		}
	}
}

// addArrival adds an arrival to the buffer. A job that needs no lease is returned instead.
func (r *run) addArrival(a arrival) (*task, error) {
	l := r.prefetch
	switch {
	case r.soft.Err() != nil:
		if a.err == nil {
			a.returnJob(0)
		}
		return nil, nil
	case errors.Is(a.err, ErrClosed), fetch.CodeOf(a.err) == fetch.ErrRefused: // the worker may not take jobs
		return nil, a.err
	case a.err != nil:
		r.Metrics.add(countEngineErrors, 1)
		r.Logger.Warn("cannot take jobs", "error", a.err)
		l.resume = time.Now().Add(l.wait/2 + rand.N(l.wait))
		l.wait = min(2*l.wait, 5*time.Second)
		return nil, nil
	}
	l.wait = 100 * time.Millisecond
	r.Metrics.add(countTaken, 1)
	t := a.task
	if t.decodeErr != nil || t.host == "" {
		return t, nil
	}
	t.arrived = time.Now()
	l.n++
	l.bytes += len(t.delivery.Data())
	for _, p := range l.queues {
		if p.host == t.host {
			p.add(t)
			return nil, nil
		}
	}
	l.returnInterval = minReturnInterval
	l.queues = append(l.queues, &hostQueue{host: t.host, tasks: []*task{t}})
	return nil, nil
}

// add keeps the jobs in the order of their priority and age.
func (p *hostQueue) add(t *task) {
	i := len(p.tasks)
	for i > 0 && compareTasks(t, p.tasks[i-1]) < 0 {
		i--
	}
	p.tasks = slices.Insert(p.tasks, i, t)
}

func compareTasks(a, b *task) int {
	return cmp.Or(cmp.Compare(slices.Index(Priorities, a.delivery.Priority()),
		slices.Index(Priorities, b.delivery.Priority())), cmp.Compare(a.place.Sequence, b.place.Sequence))
}

func (l *prefetch) remove(i, k int) *task {
	p := l.queues[i]
	t := p.tasks[k]
	p.tasks = slices.Delete(p.tasks, k, k+1)
	l.n--
	l.bytes -= len(t.delivery.Data())
	l.queues = slices.Delete(l.queues, i, i+1)
	if len(p.tasks) > 0 {
		l.queues = append(l.queues, p)
	}
	return t
}

// isPaused reports whether a host is paused, by its own request or by the scheduler. Its jobs must
// not occupy the scheduler.
func (r *run) isPaused(host string) bool {
	return r.pauses.known(host) || r.sched.PausedUntil(host).After(time.Now())
}

// pick returns a job whose host has a lease for it. Otherwise it reports whether there are jobs
// that only wait for the scheduler.
func (r *run) pick(room func(string) bool) (t *task, ready bool) {
	for i, p := range r.prefetch.queues {
		free, used := r.hosts.count(p.host)
		if used >= r.Parallel {
			free++ // each ending job passes its lease to the next one
		}
		if r.isPaused(p.host) || free <= r.scheduledWithoutLease(p.host) {
			continue
		}
		ready = true
		if !room(p.host) {
			continue
		}
		r.mu.Lock()
		p.blocked, p.wait = false, 0
		r.mu.Unlock()
		r.prefetch.markSlow(p, time.Now())
		return r.prefetch.remove(i, 0), true
	}
	return nil, ready
}

func (r *run) scheduledWithoutLease(host string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prefetch.unleased[host]
}

// requestLeases requests leases for hosts with waiting jobs, a few at a time.
func (r *run) requestLeases() {
	now := time.Now()
	for _, p := range r.prefetch.queues {
		if r.isPaused(p.host) {
			continue
		}
		r.mu.Lock()
		begin := !p.requesting && !now.Before(p.next) &&
			r.prefetch.leaseRequests+len(r.prefetch.unleased)+int(r.slots.Load()) < r.Parallel
		if begin {
			p.requesting = true
			r.prefetch.leaseRequests++
		}
		r.mu.Unlock()
		if begin {
			r.prefetch.requests.Go(func() { r.requestLease(p) })
		}
	}
}

func (r *run) requestLease(p *hostQueue) {
	ctx, cancel := context.WithTimeout(r.soft, operationTimeout)
	defer cancel()
	reserved := r.hosts.reserve(ctx, p.host)
	r.mu.Lock()
	r.prefetch.leaseRequests--
	p.requesting, p.blocked = false, !reserved
	p.wait = min(max(2*p.wait, minLeaseRetry), maxLeaseRetry)
	p.next = time.Now().Add(p.wait/2 + rand.N(p.wait))
	r.mu.Unlock()
	r.prefetch.wakeNext()
}

// requestJob asks the engine for a job if one is wanted. It returns the latest time to check again.
func (r *run) requestJob() time.Time {
	l, now := r.prefetch, time.Now()
	next := now.Add(time.Second)
	open, longest := 0, 0 // startable jobs; the longest queue of the others
	for i := 0; i < len(l.queues); i++ {
		p := l.queues[i]
		r.mu.Lock()
		blocked := p.blocked
		if p.next.After(now) && p.next.Before(next) {
			next = p.next
		}
		r.mu.Unlock()
		if blocked = blocked || r.isPaused(p.host); blocked {
			l.markSlow(p, now)
		}
		switch {
		case blocked && now.Sub(p.tasks[0].arrived) > prefetchFor:
			r.returnBusy(l.remove(i, 0))
			i--
		case !blocked:
			open += len(p.tasks)
		case len(l.queues[longest].tasks) < len(p.tasks):
			longest = i
		}
	}
	switch {
	case l.fetching || open >= max(r.Parallel, 2,
		min(r.pace.within(prefetchAhead), prefetchJobs*r.Parallel/2)):
		return next
	case now.Before(l.resume):
		return slices.MinFunc([]time.Time{next, l.resume}, time.Time.Compare)
	case l.n >= prefetchJobs*r.Parallel || l.bytes >= prefetchBytes:
		longest = min(longest, len(l.queues)-1)
		last := len(l.queues[longest].tasks) - 1
		switch l.decide(l.queues[longest].tasks[last], now, r.movesFailUntil()) {
		case moveJob:
			if !r.move(longest, last) {
				return next
			}
		case returnJob:
			r.returnBusy(l.remove(longest, last))
		case keepJob:
			if due := l.lastReturn.Add(l.returnInterval); now.Before(due) {
				return slices.MinFunc([]time.Time{next, due}, time.Time.Compare)
			}
			l.lastReturn, l.returnInterval = now, min(2*l.returnInterval, maxReturnInterval)
			r.returnBusy(l.remove(longest, last))
		}
	}
	l.fetching = true
	ctx, cancel := context.WithCancel(r.soft)
	l.cancelFetch = cancel
	r.prefetch.requests.Go(func() {
		defer cancel()
		a := arrival{}
		d, err := r.Engine.Next(ctx)
		if a.err = err; err == nil {
			a.task = r.receive(d)
		}
		l.arrivals <- a
	})
	return next
}

func (r *run) returnPrefetched() {
	l := r.prefetch
	for len(l.queues) > 0 {
		l.remove(0, 0).returnJob(0)
	}
	ctx, cancel := context.WithCancel(r.soft)
	cancel() // makes the engine return its prefetched jobs
	if l.fetching {
		l.cancelFetch()
		if a := <-l.arrivals; a.err == nil {
			a.returnJob(0)
		}
		l.fetching = false
	} else if d, err := r.Engine.Next(ctx); err == nil {
		d.Return(0)
	}
}

// A pace measures how fast jobs finish.
type pace struct {
	mu    sync.Mutex
	since time.Time
	n     int
	rate  float64 // jobs per second
}

func (p *pace) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	p.update(time.Now())
}

const paceInterval = time.Second

func (p *pace) update(now time.Time) {
	if elapsed := now.Sub(p.since); elapsed >= paceInterval {
		p.rate = float64(p.n) / elapsed.Seconds()
		p.n, p.since = 0, now
	}
}

// within estimates the number of jobs that finish within d.
func (p *pace) within(d time.Duration) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.update(time.Now())
	return int(p.rate * d.Seconds())
}
