package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
)

// A task is a delivery in hand.
type task struct {
	*run
	delivery Delivery
	sub      *Submission
	wrong    error // what makes it no submission
	host     string
	record   *record // nil if it was not looked up
	attempt  string  // the name of this attempt in it
	visit    *visit  // nil if it is not a page of a crawl
	came     time.Time
	released bool // its place in the scheduler
	handed   bool // to the scheduler, without a place yet; guarded by the run's mu, as is begun
	begun    bool // by the scheduler

	progress sync.Mutex // for those below
	last     time.Time  // when something happened; zero if it does not run
	cancel   context.CancelCauseFunc
}

var (
	errPaused  = &fetch.Error{Code: fetch.ErrInterrupted, Err: errors.New("the host is to be left alone")}
	errStalled = &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: errors.New("nothing has happened for too long")}
)

// drop takes t out of the worker's hand.
func (t *task) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.hand, t)
}

// starts notes that the scheduler begins the job, and reports whether the worker still has it.
func (t *task) starts() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun = true
	return t.hand[t]
}

// giveBack returns the job to the queue. If that does not arrive, the engine finds out by itself.
func (t *task) giveBack(delay time.Duration) {
	t.drop()
	if err := t.delivery.Return(delay); err != nil {
		t.Logger.Debug("a job could not be given back", "error", err)
	}
}

// happened notes that something happened in the job.
func (t *task) happened() {
	t.progress.Lock()
	defer t.progress.Unlock()
	t.last = time.Now()
}

// stalled ends a job in which nothing has happened for so long.
func (t *task) stalled(most time.Duration) bool {
	t.progress.Lock()
	defer t.progress.Unlock()
	if t.cancel == nil || time.Since(t.last) < most {
		return false
	}
	t.cancel(errStalled)
	return true
}

// do does the job and returns its result, nil if it was not done.
func (t *task) do(ctx context.Context) *job.Result {
	if !t.starts() {
		return nil
	}
	defer t.drop()
	switch {
	case t.wrong != nil:
		t.bury(ctx, "", t.wrong, nil)
		return nil
	case t.soft.Err() != nil:
		t.giveBack(0)
		return nil
	}
	if (t.delivery.Again() || t.visit != nil) && !t.begin(ctx) {
		return nil
	}
	if t.visit != nil && t.visit.crawl.Stopped { // since it was handed to the scheduler
		t.unbegun(ctx)
		t.giveBack(crawlFresh)
		return nil
	}
	if t.paused(ctx) {
		return nil
	}
	held, give, err := t.hosts.take(ctx, t.host)
	t.placed()
	if err != nil {
		t.unbegun(ctx)
		t.putOff(t)
		return nil
	}
	if t.paused(ctx) { // meanwhile
		give(0)
		return nil
	}
	working, ended := t.trace(held)
	res, spool, err := t.work(working)
	if err != nil {
		ended(nil, err)
		give(0)
		t.Logger.Warn("what is known of a page could not be looked up", "id", t.sub.ID, "error", err)
		t.unbegun(ctx)
		t.giveBack(time.Second + rand.N(time.Second))
		return nil
	}
	us := errors.Is(context.Cause(held), errLost) || errors.Is(res.Err, errPaused)
	t.tell(ctx, res)
	give(t.rest())
	if spool != nil {
		defer spool.Discard()
	}
	if res.Outcome != job.Failed { // else the scheduler has to know before the next one begins
		select {
		case t.settling <- struct{}{}:
			defer func() { <-t.settling }()
			t.release(ctx)
		default:
		}
	}
	ended(t.settle(ctx, res, spool, us))
	return res
}

// trace tells that an attempt begins.
func (t *task) trace(ctx context.Context) (context.Context, func(*job.Result, error)) {
	if t.Trace == nil {
		return ctx, func(*job.Result, error) {}
	}
	a := &Attempt{ID: t.sub.ID, Job: t.sub.Job, Worker: t.Name, Number: 1}
	if t.record != nil {
		a.Number += t.record.Failures
	}
	return t.Trace(ctx, a)
}

// release gives the place in the scheduler to another job.
func (t *task) release(ctx context.Context) {
	if t.released {
		return
	}
	t.released = true
	schedule.Release(ctx)
	t.slots.Add(-1)
	t.pace.ended()
	t.lobby.look()
}

// placed notes that the job has a place, or needs none. A place that is left may be for the next one.
func (t *task) placed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.handed {
		return
	}
	t.handed = false
	if t.run.handed[t.host]--; t.run.handed[t.host] == 0 {
		delete(t.run.handed, t.host)
	}
	t.lobby.look()
}

// work does what is to be done at the host. An error is one of the engine.
func (t *task) work(ctx context.Context) (*job.Result, Spool, error) {
	if t.visit != nil {
		if res, err := t.visit.mayBegin(ctx); res != nil || err != nil {
			return res, nil, err
		}
	}
	res, spool := t.transfer(ctx)
	var engine *engineError
	if errors.As(res.Err, &engine) {
		if spool != nil {
			spool.Discard()
		}
		return nil, nil, engine
	}
	return res, spool, nil
}

// rest is how long to leave the place at the host alone that was used.
func (t *task) rest() time.Duration {
	if t.visit == nil {
		return 0
	}
	return t.visit.rest
}

// paused gives the job back if its host is to be left alone, and reports that.
func (t *task) paused(ctx context.Context) bool {
	until, err := t.pauses.until(ctx, t.host)
	rest := time.Until(until)
	switch {
	case err != nil:
		rest = time.Second
	case rest <= 0:
		return false
	default:
		t.sched.Failed(t.host, &fetch.Error{Code: fetch.ErrBusy, RetryAfter: rest})
	}
	t.unbegun(ctx)
	t.giveBack(rest + rand.N(time.Second))
	return true
}

// begin looks up what became of earlier attempts, and reports whether the job is to be done.
func (t *task) begin(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, operation)
	defer cancel()
	over, err := t.over(ctx)
	if err == nil && over {
		t.ack(ctx)
		return false
	}
	crashed := false
	if err == nil && t.delivery.Again() {
		t.record, err = amend(ctx, t.Engine.Records(), t.sub.ID, true, func(r *record) {
			if crashed = len(r.Begun) >= t.Crashes; !crashed {
				r.Begun = append(r.Begun, t.attempt)
			}
		})
	}
	if err == nil && crashed {
		why := fmt.Errorf("%d workers began it and ended without a word", len(t.record.Begun))
		if t.record.Error != "" {
			why = fmt.Errorf("%w; before that: %s", why, t.record.Error)
		}
		e := &fetch.Error{Op: t.sub.Job.Op.String(), URL: t.sub.Job.URL.Redacted(), Err: why}
		t.bury(ctx, t.sub.ID, e, t.failed(e))
		return false
	}
	if err != nil {
		t.Logger.Warn("a job could not be looked up", "id", t.sub.ID, "error", err)
		t.amends.add(attempt{t.sub.ID, t.attempt}) // perhaps only the answer was lost
		t.giveBack(time.Second + rand.N(time.Second))
		return false
	}
	return true
}

// over reports whether there is nothing left to do.
func (t *task) over(ctx context.Context) (bool, error) {
	if t.visit == nil {
		return t.Engine.HasResult(ctx, t.sub.ID)
	}
	begins, err := t.visit.begins(ctx)
	return !begins, err
}

// unbegun takes back what begin noted, now or when the engine can be reached.
func (t *task) unbegun(ctx context.Context) {
	if t.record == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), operation)
	defer cancel()
	if _, err := amend(ctx, t.Engine.Records(), t.sub.ID, false, without(t.attempt)); err != nil {
		t.amends.add(attempt{t.sub.ID, t.attempt})
	}
}

// transfer retrieves the content into a spool.
func (t *task) transfer(ctx context.Context) (*job.Result, Spool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.progress.Lock()
	t.cancel, t.last = cancel, time.Now()
	t.progress.Unlock()
	defer func() {
		t.progress.Lock()
		t.cancel = nil
		t.progress.Unlock()
	}()
	j := *t.sub.Job
	if t.visit != nil {
		j = t.visit.job()
	}
	if t.record != nil {
		j.Attempt = t.record.Failures
	}
	spool, err := t.Store.Begin()
	if err != nil {
		return t.failed(&fetch.Error{Code: fetch.ErrFile, Err: err}), nil
	}
	w := &counted{w: spool, t: t}
	hooks := &job.Hooks{
		Writer:   w,
		Progress: func(int64, int64) { t.happened() },
		Response: func(*fetch.Response) error { t.happened(); return nil },
		Retry: func(_ int, _ time.Duration, err error) {
			t.happened()
			t.tell(ctx, &job.Result{Outcome: job.Failed, Class: fetch.CodeOf(err), Err: err})
			if until, err := t.pauses.until(ctx, t.host); err == nil && time.Until(until) > 0 {
				cancel(errPaused) // somebody was told meanwhile
			}
		},
	}
	if t.visit != nil {
		hooks.Response = func(resp *fetch.Response) error {
			t.happened()
			return t.visit.response(ctx, resp)
		}
		hooks.Listing = func(resp *fetch.Response) error { return listing(w, resp.Entries) }
	}
	return t.Runner.Run(ctx, &j, hooks), spool
}

// counted is the way into a spool.
type counted struct {
	w io.Writer
	t *task
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.t.Metrics.received(n)
	c.t.happened()
	return n, err
}

// failed returns the result of a job that was not done.
func (t *task) failed(err error) *job.Result {
	r := &job.Result{URL: t.sub.Job.URL.Redacted(), Op: t.sub.Job.Op, Outcome: job.Failed, Started: time.Now(), Size: -1,
		Class: fetch.CodeOf(err), Err: err}
	r.Message = render.Message(err)
	var own *fetch.Error
	if errors.As(err, &own) {
		r.Retry, r.RetryAfter = own.Retry, own.RetryAfter
	}
	return r
}

// tell tells all workers of a host that is busy.
func (t *task) tell(ctx context.Context, res *job.Result) {
	if res.Outcome != job.Failed || res.Class != fetch.ErrBusy && res.RetryAfter <= 0 {
		return
	}
	rest := min(max(res.RetryAfter, time.Second), maxRetryAfter)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), operation)
	defer cancel()
	if err := t.pauses.set(ctx, t.host, time.Now().Add(rest)); err != nil {
		t.Logger.Warn("other workers could not be told of a busy host", "host", t.host, "error", err)
	}
}

// settle ends the job, or lets it be done again. us says that it was not the job's fault if it
// failed. It returns the result, which may be another one for a page, and why it could not be kept
// or delivered.
func (t *task) settle(ctx context.Context, res *job.Result, spool Spool, us bool) (*job.Result, error) {
	if res.Outcome == job.Failed && (us || errors.Is(context.Cause(ctx), fetch.ErrInterrupted)) {
		t.unbegun(ctx)
		rest := time.Duration(0)
		if errors.Is(res.Err, errPaused) {
			rest = time.Second
		}
		t.giveBack(rest)
		return res, nil
	}
	if t.visit != nil {
		told, err := t.visit.ends(ctx, res, spool)
		if err != nil {
			t.Metrics.trouble()
			t.Logger.Warn("what a page leads to could not be told", "id", t.sub.ID, "url", t.sub.Job.URL, "error", err)
			t.unbegun(ctx)
			t.giveBack(time.Second + rand.N(time.Second))
			return res, err
		}
		res = told
	}
	if res.Outcome == job.Failed && passes(res) {
		t.again(ctx, res)
		return res, nil
	}
	path := ""
	if res.Outcome == job.Saved {
		var err error
		if path, err = spool.Commit(ctx, res.SHA256); err != nil {
			t.Metrics.trouble()
			t.Logger.Error("a content could not be kept", "id", t.sub.ID, "url", t.sub.Job.URL, "error", err)
			t.unbegun(ctx)
			t.giveBack(backoffs[fetch.ErrFile])
			return res, err
		}
	}
	if err := t.put(ctx, res, path); err != nil {
		t.Logger.Error("a result could not be delivered", "id", t.sub.ID, "url", t.sub.Job.URL, "error", err)
		t.giveBack(0)
		return res, err
	}
	t.ack(ctx)
	t.Metrics.ended(t.sub.Job.URL.Scheme(), res)
	t.Logger.Info("ended", "id", t.sub.ID, "url", t.sub.Job.URL, "outcome", res.Outcome, "class", res.Class, "bytes", max(res.Size, 0), "seconds", res.Elapsed.Seconds())
	return res, nil
}

// again lets the job be done later, unless it has failed often enough.
func (t *task) again(ctx context.Context, res *job.Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), operation)
	defer cancel()
	text := fetch.Printable(res.Err.Error())
	r, err := amend(ctx, t.Engine.Records(), t.sub.ID, true, func(r *record) {
		without(t.attempt)(r)
		r.Failures++
		r.Error = text[:min(len(text), maxError)]
	})
	if err != nil {
		t.Logger.Warn("a failure could not be noted", "id", t.sub.ID, "error", err)
		t.amends.add(attempt{t.sub.ID, t.attempt})
	}
	t.record = r
	t.Logger.Info("failed", "id", t.sub.ID, "url", t.sub.Job.URL, "failures", r.Failures, "error", r.Error)
	if t.Retry.Tries > 0 && r.Failures >= t.Retry.Tries {
		t.bury(ctx, t.sub.ID, res.Err, res)
		return
	}
	rest := pause(res, t.record.Failures, t.Retry, rand.N[time.Duration])
	t.Metrics.retried(t.sub.Job.URL.Scheme(), res)
	t.giveBack(rest)
}

// put delivers the result.
func (t *task) put(ctx context.Context, res *job.Result, path string) error {
	data, err := json.Marshal(newEvent(t, res, path))
	if err != nil {
		return err
	}
	if t.Settle != nil {
		if err := t.Settle(); err != nil {
			return err
		}
	}
	return t.persist(ctx, func(ctx context.Context) error { return t.Engine.PutResult(ctx, t.sub.ID, data) })
}

// ack ends the job in the engine, and what is remembered of it.
func (t *task) ack(ctx context.Context) {
	if err := t.persist(ctx, t.delivery.Ack); err != nil {
		t.Logger.Warn("a job could not be acknowledged; it will be looked at once more", "id", t.sub.ID, "error", err)
		return
	}
	if t.record != nil {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), operation)
		defer cancel()
		t.Engine.Records().Delete(short, t.sub.ID, 0) // or it ends by itself
	}
}

// persist does something that must not fail only because an answer was lost, or because servers have
// to agree on who leads: the job is done, and would be done again.
func (t *task) persist(ctx context.Context, do func(context.Context) error) error {
	hard, ctx := ctx, context.WithoutCancel(ctx)
	var err error
	for try, begun := 0, time.Now(); try < 3 || time.Since(begun) < 2*operation && hard.Err() == nil; try++ {
		if try > 0 {
			sleep(ctx, min(200*time.Millisecond<<(try-1), 2*time.Second))
		}
		short, cancel := context.WithTimeout(ctx, operation)
		err = do(short)
		cancel()
		if err == nil || errors.Is(err, ErrClosed) {
			return err
		}
	}
	t.Metrics.trouble()
	return err
}

// bury makes a dead letter of the job, and a result of its last failure if there is one.
func (t *task) bury(ctx context.Context, id string, why error, res *job.Result) {
	letter := newLetter(t.delivery.Data(), t.delivery.Priority(), why, t.record)
	if id == "" {
		id = digest(t.delivery.Data())
	}
	data, err := json.Marshal(letter)
	if err == nil {
		err = t.persist(ctx, func(ctx context.Context) error { return t.Engine.PutDead(ctx, id, data) })
	}
	if err == nil && res != nil {
		err = t.put(ctx, res, "")
	}
	if err != nil {
		t.Logger.Error("a dead letter could not be delivered", "error", err)
		t.giveBack(time.Second)
		return
	}
	t.Metrics.buried()
	t.Logger.Warn("dead letter", "id", id, "error", letter.Error)
	if t.sub == nil {
		t.sub = &Submission{ID: id} // for messages
	}
	t.ack(ctx)
}
