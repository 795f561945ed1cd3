package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mrand "math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
)

// A Worker does the jobs of a queue. Engine, Runner and Store are required; zero fields mean the
// defaults.
type Worker struct {
	Engine Engine
	// Runner does the jobs. Its client should have a policy with Untrusted. It should try again no
	// more than briefly: what takes longer is for the queue. See Runner.
	Runner *job.Runner
	Store  Store
	Name   string // in results; the name of the machine

	Parallel int // jobs at once; 4
	// PerHost is how many transfers a host bears at once, of all workers together, and Delay how
	// long to wait after one before the next in its place. All workers must agree on PerHost. The
	// defaults are 2 and none.
	PerHost int
	Delay   time.Duration
	// Retry says after how many transient failures a job becomes a dead letter (5 by default), and
	// how long it waits in the queue after each: by default, the first pause depends on the class of
	// the failure, doubles up to 10 minutes, and half of it is random; a server may ask for up to an
	// hour. Retry.Transient and Retry.Report are not used.
	Retry retry.Policy
	// Crashes is the number of attempts that ended without a word, with their worker, after which a
	// job becomes a dead letter; 3 by default. The first attempt of all is not noted, and does not
	// count.
	Crashes int
	// Grace is how long what is under way may take after the context of Run has ended; 30 s. Less
	// than 0 means none.
	Grace time.Duration
	// Stall is how long nothing may happen in a job before it fails; 5 minutes.
	Stall time.Duration

	// Crawl says that the queue is that of a crawl.
	Crawl bool
	// Settle, if not nil, makes durable what else the client of the Runner did. It is called before
	// a result is put in.
	Settle func() error

	// Trace, if not nil, is called when an attempt at a job begins, that is, when it has a place at its
	// host. The attempt goes on with the context that it returns, and calls ended, which must not be
	// nil, once: with the result, and with the error if that could not be kept or delivered. The result
	// is nil if the engine failed before there was one. Both may be called at the same time for several
	// attempts, and must not wait.
	Trace func(ctx context.Context, a *Attempt) (_ context.Context, ended func(*job.Result, error))

	Metrics *Metrics     // nil if nobody wants them
	Logger  *slog.Logger // nil discards
}

// An Attempt is one time that a job is done.
type Attempt struct {
	ID     string   // of the submission
	Job    *job.Job // not to be changed; it may have secrets
	Worker string
	Number int // 1 for the first; failures that may pass count, workers that ended do not
}

// Runner returns a runner as a Worker wants it: it goes on where a connection broke, but leaves all
// longer waits to the queue.
func Runner(r job.Runner) *job.Runner {
	r.Retry = retry.Policy{Tries: 3, Wait: 500 * time.Millisecond, MaxRetryAfter: time.Millisecond}
	r.SHA256 = true
	return &r
}

// settleAhead is how many jobs may be about to end, without a place at their host, for each that has
// one.
const settleAhead = 2

// renewAtMost is how long leases are left alone at most.
const renewAtMost = time.Second

// operation bounds how long the engine may take for one thing.
const operation = 10 * time.Second

// A run is a worker at work.
type run struct {
	Worker
	soft   context.Context // ends when no job is to begin any more
	hosts  *hosts
	pauses *pauses
	// crawling is nil if there is no crawl.
	crawling *crawling
	amends   amends
	sched    *schedule.Scheduler

	lobby    *lobby
	askers   sync.WaitGroup // goroutines that ask the engine for something
	settling chan struct{}  // has a value for each job that ends without its place
	running  atomic.Int32
	slots    atomic.Int32 // of running, those that have not released their place in the scheduler
	pace     pace
	mu       sync.Mutex     // for all below
	handed   map[string]int // how many jobs were handed to the scheduler and have no place yet, by host
	hand     map[*task]bool // deliveries that have not ended
	deferred map[string]deferrals
}

// Run does jobs until ctx ends: then it takes no more, those that have not begun go back to the
// queue, and those under way have Grace to end before they go back too. It returns nil then, or the
// error of an engine that was closed. While the engine cannot be reached it waits.
func (w *Worker) Run(ctx context.Context) error {
	r := &run{Worker: *w, soft: ctx, lobby: newLobby(), handed: map[string]int{}, hand: map[*task]bool{}, deferred: map[string]deferrals{}}
	r.Parallel = cmp.Or(r.Parallel, 4)
	r.PerHost = cmp.Or(r.PerHost, 2)
	r.Retry.Tries, r.Crashes = cmp.Or(r.Retry.Tries, 5), cmp.Or(r.Crashes, 3)
	r.Grace, r.Stall = cmp.Or(r.Grace, 30*time.Second), cmp.Or(r.Stall, 5*time.Minute)
	if r.Name == "" {
		r.Name, _ = os.Hostname()
	}
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	if r.Metrics == nil {
		r.Metrics = &Metrics{}
	}
	r.hosts = newHosts(r.Engine.Leases(), r.Engine.Limits().LeaseTTL, r.PerHost, r.Delay, r.Name+"/"+rand.Text())
	r.hosts.most = r.Parallel + max(r.Parallel/2, 1)
	r.hosts.waited, r.hosts.freed = r.Metrics.leaseWait, r.lobby.look
	r.settling = make(chan struct{}, settleAhead*r.Parallel)
	r.pauses = newPauses(r.Engine.Records())
	if r.Crawl {
		r.crawling = newCrawling(r.Engine, r.Runner.Downloader.Client)
	}
	r.sched = schedule.New(&schedule.Options{Parallel: r.Parallel, Host: schedule.Limits{Parallel: r.PerHost}, Waiting: 2})

	hard, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	over := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Go(func() {
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		r.returnWaiting()
		for end := time.Now().Add(r.Grace); time.Now().Before(end) && r.running.Load() > 0; {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-over:
				return
			}
		}
		kill(fetch.ErrInterrupted)
	})
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	helpers.Go(func() { r.renewDeliveries(keeping) })
	helpers.Go(func() { r.renewLeases(keeping) })

	err := r.sched.Run(hard, r)
	close(over)
	stop()
	helpers.Wait()
	r.askers.Wait()
	r.returnAll()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(operation, r.hosts.ttl))
	defer cancel()
	r.hosts.close(closing)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// returnWaiting gives back what the scheduler has not begun: what is under way may take long.
func (r *run) returnWaiting() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range r.hand {
		if t.handed && !t.begun {
			t.delivery.Return(0)
			delete(r.hand, t)
		}
	}
}

// returnAll gives back what nobody has begun.
func (r *run) returnAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range r.hand {
		t.delivery.Return(0)
		delete(r.hand, t)
	}
}

// renewDeliveries keeps what is in hand from being taken for lost, and ends jobs in which nothing
// happens.
func (r *run) renewDeliveries(ctx context.Context) {
	for sleep(ctx, r.Engine.Limits().AckWait/3) == nil {
		r.mu.Lock()
		all := make([]*task, 0, len(r.hand))
		for t := range r.hand {
			all = append(all, t)
		}
		r.mu.Unlock()
		for _, t := range all {
			if t.stalled(r.Stall) {
				continue
			}
			if err := t.delivery.Extend(); err != nil {
				r.Logger.Debug("a job could not be extended", "error", err)
			}
		}
	}
}

// renewLeases looks after the places at hosts.
func (r *run) renewLeases(ctx context.Context) {
	every := r.hosts.ttl / 6
	for renewed := time.Now(); sleep(ctx, min(every, idlePlace)) == nil; {
		short, cancel := context.WithTimeout(ctx, r.hosts.ttl/2)
		if time.Since(renewed) >= min(every, renewAtMost) {
			renewed = time.Now()
			r.hosts.keep(short)
			r.amends.do(short, r.Engine.Records())
		}
		r.hosts.tidy(short)
		cancel()
	}
}

// goes waits while the crawl is stopped or has not begun, and returns false if the worker ends
// meanwhile.
func (r *run) goes() bool {
	for r.crawling != nil {
		c, err := r.crawling.load(r.soft)
		if err == nil && !c.Stopped {
			break
		}
		if err != nil && !errors.Is(err, ErrNoCrawl) && r.soft.Err() == nil {
			r.Metrics.trouble()
			r.Logger.Warn("the crawl cannot be looked up", "error", err)
		}
		if sleep(r.soft, crawlFresh) != nil {
			return false
		}
	}
	return r.soft.Err() == nil
}

// receive takes a delivery in hand.
func (r *run) receive(d Delivery) *task {
	t := &task{run: r, delivery: d, attempt: rand.Text()}
	t.sub, t.wrong = Decode(d.Data())
	if t.wrong == nil {
		t.host = t.sub.Job.URL.Host()
		switch {
		case t.sub.Page == nil:
		case r.crawling == nil:
			t.wrong = refused(t.sub.Job, errors.New("a page of a crawl among the jobs"))
		default:
			t.visit = &visit{task: t}
		}
	}
	r.mu.Lock()
	r.hand[t] = true
	r.mu.Unlock()
	return t
}

func (r *run) schedule(t *task) schedule.Task {
	r.mu.Lock()
	r.handed[t.host]++
	t.handed = true
	r.mu.Unlock()
	return schedule.Task{Host: t.host, Do: func(ctx context.Context) error {
		r.running.Add(1)
		r.slots.Add(1)
		defer r.running.Add(-1)
		defer t.release(ctx)
		defer t.placed()
		switch res := t.do(ctx); {
		case res == nil:
			return schedule.ErrNoVerdict
		case res.Outcome != job.Failed: // a skipped page may have an error
			return nil
		default:
			return res.Err
		}
	}}
}

// deferrals are how many jobs of a host were put off lately.
type deferrals struct {
	n     int
	since time.Time
}

const maxDeferral = 30 * time.Second

// putOff gives a job back whose host has enough to do, for longer the more there are of them.
func (r *run) putOff(t *task) {
	now := time.Now()
	r.mu.Lock()
	d := r.deferred[t.host]
	if now.Sub(d.since) > maxDeferral {
		d = deferrals{since: now}
	}
	d.n++
	if len(r.deferred) > maxPauses {
		clear(r.deferred)
	}
	r.deferred[t.host] = d
	r.mu.Unlock()
	most := min(time.Second+time.Duration(d.n)*5*time.Millisecond, maxDeferral)
	r.Metrics.putOff()
	t.giveBack(most/2 + mrand.N(most/2))
}
