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

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
)

// A Worker executes the jobs of a queue. Engine, Runner and Store are required. Zero values of
// other fields mean the defaults.
type Worker struct {
	Engine Engine
	// Runner executes the jobs. The policy of its client should have Untrusted. SHA256 is always
	// set. By default, Runner.Retry resumes interrupted transfers but leaves longer waits to the
	// queue.
	Runner *job.Runner
	Store  Store
	Name   string // reported in results; default is the host name

	Parallel int // concurrent jobs; default 4
	// PerHost limits concurrent transfers from a host for all workers together, and must be equal
	// for all of them. Delay is the pause between two transfers with the same lease. The defaults
	// are 2 and 0. HostLimits of the queue replace both.
	PerHost int
	Delay   time.Duration
	// Retry.Tries is the number of transient failures after which a job becomes a dead letter;
	// default 5. The other fields set the pauses in the queue. By default, the first pause depends
	// on the class of the failure, doubles up to 10 minutes, and half of it is random; Retry-After
	// is limited to an hour. Retry.Transient and Retry.Report are not used.
	Retry retry.Policy
	// Crashes is the number of attempts lost with their worker after which a job becomes a dead
	// letter; default 3. The first attempt is not recorded and does not count.
	Crashes int
	// Grace limits how long running jobs may take after the context of Run has ended; default 30 s.
	// A negative value means none.
	Grace time.Duration
	// Stall is the time without progress after which a job fails; default 5 minutes. Each byte is
	// progress. The client should have a middleware.SpeedLimit, or a few servers that send a byte now
	// and then stop the worker.
	Stall time.Duration
	// MaxTime limits an attempt at a job. A job that takes longer fails for good. 0 means no limit.
	MaxTime time.Duration

	// Check, if not nil, returns why no jobs may start, such as a disk that is almost full. It is called
	// every few seconds.
	Check func(context.Context) error

	// Crawl reports that the queue is a crawl queue.
	Crawl bool
	// Cookies, if not nil, is called with the cookies of the crawl before its first job and when they
	// change. It must replace the cookies of the client by those in file, which is in Netscape format
	// and may be empty. Calls are not concurrent. After an error, no jobs start until a call succeeds.
	Cookies func(file []byte) error
	// Left, if not nil, is called for each link of the crawl that is not followed, perhaps several
	// times for one link. Calls may overlap.
	Left func(l crawl.Link, why crawl.Reason)
	// Sync, if not nil, is called before a result is published. It must make other output of the
	// client durable, such as an archive.
	Sync func() error

	// Trace, if not nil, is called when an attempt starts, after it has a host lease. The attempt
	// uses the returned context. It calls ended, which must not be nil, exactly once with the
	// result, and with the error if the result could not be stored or published. The result is nil
	// if the engine failed first. Both functions may be called concurrently and must not block.
	Trace func(ctx context.Context, a *Attempt) (_ context.Context, ended func(*job.Result, error))

	// Hint, if not nil, returns the hint in the result of a failed job. By default it is that of the
	// error.
	Hint func(*fetch.Error) string

	Metrics *Metrics     // may be nil
	Logger  *slog.Logger // nil discards
}

// An Attempt is one execution of a job.
type Attempt struct {
	ID     string   // of the submission
	Job    *job.Job // must not be changed; may contain secrets
	Worker string
	Number int // starts at 1; counts transient failures, but not crashed workers
}

// resumeOnly resumes interrupted transfers. It leaves longer waits and slow servers to the queue.
var resumeOnly = retry.Policy{Tries: 3, Wait: 500 * time.Millisecond, MaxRetryAfter: time.Millisecond,
	Transient: isInterruption}

// isInterruption is fetch.Transient, except that a server below the least rate would keep its slot.
func isInterruption(err error) (after time.Duration, ok bool) {
	if e := (*wire.TimeoutError)(nil); errors.As(err, &e) && e.Rate > 0 {
		return 0, false
	}
	return fetch.Transient(err)
}

const maxRenewInterval = time.Second

const operationTimeout = 10 * time.Second

type run struct {
	Worker
	soft   context.Context // cancelled when no more jobs may start
	hosts  *hosts
	pauses *pauses
	// crawlState is nil if the queue is not a crawl queue.
	crawlState *crawlState
	results    *Results
	pending    pendingUpdates
	health     health
	sched      *schedule.Scheduler

	prefetch   *prefetch
	settling   chan struct{} // holds a value for each job that settles without a slot
	gathering  gathering
	running    atomic.Int32
	slots      atomic.Int32 // running jobs that have not released their scheduler slot
	pace       pace
	mu         sync.Mutex          // guards the fields below
	unfinished map[*task]bool      // unfinished deliveries
	settled    int                 // unfinished deliveries whose results are published or wait for that
	begun      map[*task]time.Time // jobs that hold a slot
	deferred   map[string]deferrals

	limitsKnown atomic.Bool // the limits of hosts were requested
	limited     atomic.Bool // there were limits of hosts
	waiting     atomic.Bool // no jobs may start, see waitUntilRunning
	limitsText  []byte      // the last known limits of hosts; used by one goroutine at a time
}

// newRun returns a run with defaults filled in. It takes no more jobs after ctx ends.
func newRun(ctx context.Context, w *Worker) *run {
	r := &run{Worker: *w, soft: ctx, prefetch: newPrefetch(), unfinished: map[*task]bool{},
		begun: map[*task]time.Time{}, deferred: map[string]deferrals{}}
	runner := *w.Runner
	runner.SHA256, runner.Retry = true, runner.Retry.Or(resumeOnly)
	r.Runner, r.Parallel = &runner, cmp.Or(r.Parallel, 4)
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
	r.hosts = newHosts(r.Engine.Leases(), r.Engine.Limits().LeaseTTL, r.PerHost, r.Delay,
		r.Name+"/"+rand.Text())
	r.hosts.maxLeases = r.Parallel + max(r.Parallel/2, 1)
	r.hosts.recordWait, r.hosts.onRelease = r.Metrics.leaseWait, r.prefetch.wakeNext
	r.gathering.finish = r.finishAll
	r.settling = make(chan struct{}, 2*(maxGathered+r.Parallel))
	r.pauses = newPauses(r.Engine.Records())
	r.results = &Results{Engine: r.Engine,
		Store: func(context.Context) (Store, error) { return r.Store, nil }}
	if r.Crawl {
		r.crawlState = newCrawlState(&r.Worker, r.results)
	}
	r.sched = schedule.New(&schedule.Options{Parallel: r.Parallel, Host: schedule.Limits{Parallel: r.PerHost},
		Waiting: 2})
	return r
}

// Run executes jobs until ctx ends. Then it returns jobs that have not started to the queue, and
// running jobs after Grace. In that case it returns nil. It returns ErrClosed if the engine was
// closed. It waits while the engine is unreachable.
func (w *Worker) Run(ctx context.Context) error {
	r := newRun(ctx, w)
	hard, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	done := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Go(func() {
		select {
		case <-ctx.Done():
			r.end(done)
			kill(fetch.ErrInterrupted)
		case <-done:
		}
	})
	renewCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	helpers.Go(func() { r.renewDeliveries(renewCtx) })
	helpers.Go(func() { r.renewLeases(renewCtx) })
	helpers.Go(func() { r.followLimits(renewCtx) })
	report := rand.Text()
	helpers.Go(func() { r.report(renewCtx, report) })

	err := r.sched.Run(hard, r.next)
	close(done)
	stop()
	helpers.Wait()
	r.prefetch.requests.Wait()
	r.returnAll()
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(operationTimeout, r.hosts.ttl))
	defer cancel()
	r.hosts.close(closeCtx)
	r.Engine.PutWorker(closeCtx, report, nil) // otherwise it expires
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// end returns jobs that have not started, and waits for running jobs until Grace has passed or done
// is closed.
func (r *run) end(done <-chan struct{}) {
	r.returnWaiting()
	for end := time.Now().Add(r.Grace); time.Now().Before(end) && r.running.Load() > 0; {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-done:
			return
		}
	}
}

func (r *run) returnWaiting() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range r.unfinished {
		if t.unleased && !t.started {
			t.delivery.Return(0)
			delete(r.unfinished, t)
		}
	}
}

func (r *run) returnAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range r.unfinished {
		t.delivery.Return(0)
		delete(r.unfinished, t)
	}
}

func (r *run) renewDeliveries(ctx context.Context) {
	for retry.Sleep(ctx, r.Engine.Limits().AckWait/3) == nil {
		r.mu.Lock()
		all := make([]*task, 0, len(r.unfinished))
		for t := range r.unfinished {
			all = append(all, t)
		}
		r.mu.Unlock()
		for _, t := range all {
			if t.cancelIfStalled(r.Stall) {
				continue
			}
			if err := t.delivery.Extend(); err != nil {
				r.Logger.Debug("cannot extend a job", "error", err)
			}
		}
	}
}

// renewLeases renews host leases and releases idle ones.
func (r *run) renewLeases(ctx context.Context) {
	every := r.hosts.ttl / 6
	for renewed := time.Now(); retry.Sleep(ctx, min(every, idleLeaseTime)) == nil; {
		short, cancel := context.WithTimeout(ctx, r.hosts.ttl/2)
		if time.Since(renewed) >= min(every, maxRenewInterval) {
			renewed = time.Now()
			r.hosts.renewAll(short)
			r.pending.do(short, r.Engine.Records())
		}
		r.hosts.deleteUnused(short)
		cancel()
	}
}

// stateInterval is the interval between requests for the state of a paused queue.
const stateInterval = 2 * time.Second

// waitUntilRunning waits while the queue is paused, and while a crawl does not exist. Jobs that have
// not started return to the queue. It returns false if the worker is stopping.
func (r *run) waitUntilRunning() bool {
	for waiting := false; r.soft.Err() == nil; waiting = true {
		obstacle, err := r.obstacle()
		if err != nil && r.soft.Err() == nil {
			r.Metrics.add(countEngineErrors, 1)
			r.Logger.Warn("cannot read the state of the queue", "error", err)
		}
		if obstacle == "" && err == nil {
			if waiting {
				r.Logger.Info("starting jobs again")
				r.waiting.Store(false)
			}
			return r.soft.Err() == nil
		}
		r.waiting.Store(obstacle != "")
		if !waiting {
			if err == nil {
				r.Logger.Info("waiting: " + obstacle)
			}
			r.returnWaiting()
			r.returnPrefetched()
		}
		retry.Sleep(r.soft, stateInterval)
	}
	return false
}

// obstacle returns the reason why no jobs may start, or "".
func (r *run) obstacle() (string, error) {
	ctx, cancel := context.WithTimeout(r.soft, operationTimeout)
	defer cancel()
	s, err := r.Engine.State(ctx)
	switch {
	case err != nil:
		return "", err
	case s == Paused:
		return "the queue is paused", nil
	}
	if pauses, err := r.health.trouble(time.Now()); pauses {
		return err.Error(), nil
	}
	if r.Check != nil {
		if err := r.Check(ctx); err != nil {
			return err.Error(), nil
		}
	}
	if !r.limitsKnown.Load() {
		if err := r.loadLimits(ctx); err != nil {
			return "", err
		}
	}
	if r.crawlState == nil {
		return "", nil
	}
	if _, err = r.crawlState.load(ctx, 0); errors.Is(err, ErrNoCrawl) {
		return "the crawl does not exist", nil
	}
	return "", err
}

func (r *run) receive(d Delivery) *task {
	t := &task{run: r, delivery: d, place: d.Place(), attempt: rand.Text()}
	t.sub, t.decodeErr = decode(d.Data())
	if t.decodeErr == nil {
		t.host = t.sub.Job.URL.Host()
		switch {
		case t.sub.Page == nil:
		case r.crawlState == nil:
			t.decodeErr = refused(t.sub.Job, errors.New("the job is a page of a crawl"))
		default:
			t.visit = &visit{task: t}
		}
	}
	r.mu.Lock()
	r.unfinished[t] = true
	r.mu.Unlock()
	return t
}

func (r *run) schedule(t *task) schedule.Task {
	r.limitScheduled(t.host)
	r.mu.Lock()
	r.prefetch.unleased[t.host]++
	t.unleased = true
	r.mu.Unlock()
	return schedule.Task{Host: t.host, Do: func(ctx context.Context) error {
		r.running.Add(1)
		r.slots.Add(1)
		defer r.running.Add(-1)
		r.hold(t)
		defer t.release(ctx)
		defer t.recordLease()
		switch res := t.do(ctx); {
		case res == nil:
			return schedule.ErrNoVerdict
		case res.Outcome != job.Failed:
			// a skipped page may have an error, which is not a failure of the host
			return nil
		default:
			return res.Err
		}
	}}
}

type deferrals struct {
	n     int
	since time.Time
}

const maxDeferral = 30 * time.Second

// returnBusy returns a job of a busy host. The delay grows with the number of such jobs.
func (r *run) returnBusy(t *task) {
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
	limit := min(time.Second+time.Duration(d.n)*5*time.Millisecond, maxDeferral)
	r.Metrics.add(countDeferred, 1)
	t.returnJob(limit/2 + mrand.N(limit/2))
}
