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

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
)

type task struct {
	*run
	delivery  Delivery
	place     Place
	sub       *submission
	decodeErr error // decoding error
	host      string
	record    *record // nil if it was not read
	attempt   string  // the name of this attempt in record
	visit     *visit  // nil if the job is not a page of a crawl
	earlier   *Event  // the result that makes the request conditional, or nil
	arrived   time.Time
	released  bool // the scheduler slot was released
	unleased  bool // scheduled and without a host lease; guarded by run.mu, as are the next two
	started   bool // started by the scheduler
	gathered  bool // counted in run.settled

	progress sync.Mutex // guards the fields below
	last     time.Time  // time of the last progress; zero if the job is not running
	cancel   context.CancelCauseFunc
}

var (
	errPaused  = &fetch.Error{Code: fetch.ErrInterrupted, Err: errors.New("the host is paused")}
	errStore   = errors.New("cannot write to the store")
	errStalled = &fetch.Error{Code: fetch.ErrNetwork, Retry: true,
		Err: errors.New("the job made no progress")}
)

func (t *task) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gathered {
		t.gathered = false
		t.settled--
	}
	delete(t.unfinished, t)
}

// markStarted records that the scheduler starts the job, and reports whether the worker still has
// it.
func (t *task) markStarted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started = true
	return t.unfinished[t]
}

// returnJob returns the job to the queue. If the request is lost, the job is redelivered after
// AckWait.
func (t *task) returnJob(delay time.Duration) {
	t.drop()
	if err := t.delivery.Return(delay); err != nil {
		t.Logger.Debug("cannot return a job", "error", err)
	}
}

func (t *task) recordProgress() {
	t.progress.Lock()
	defer t.progress.Unlock()
	t.last = time.Now()
}

// cancelIfStalled cancels the job if it made no progress for the given time, and reports that.
func (t *task) cancelIfStalled(limit time.Duration) bool {
	t.progress.Lock()
	defer t.progress.Unlock()
	if t.cancel == nil || time.Since(t.last) < limit {
		return false
	}
	t.cancel(errStalled)
	return true
}

// do executes the job and returns its result, or nil if it was not executed.
func (t *task) do(ctx context.Context) *job.Result {
	if !t.markStarted() {
		return nil
	}
	defer t.drop()
	if !t.checkReady(ctx) {
		return nil
	}
	leaseCtx, releaseLease, err := t.hosts.take(ctx, t.host)
	t.recordLease()
	if err != nil {
		t.removeAttempt(ctx)
		t.returnBusy(t)
		return nil
	}
	if t.returnIfQueuePaused(ctx) || t.returnIfPaused(ctx) { // paused while the job waited for the lease
		releaseLease(0)
		return nil
	}
	attemptCtx, ended := t.trace(leaseCtx)
	res, spool, err := t.work(attemptCtx)
	if err != nil {
		ended(nil, err)
		releaseLease(0)
		t.Logger.Warn("cannot read the state of a job", "id", t.sub.ID, "error", err)
		t.postpone(ctx, engineRetryDelay())
		return nil
	}
	workerFault := errors.Is(context.Cause(leaseCtx), errLost) || errors.Is(res.Err, errPaused) ||
		errors.Is(res.Err, errStore)
	t.publishPause(ctx, res)
	releaseLease(t.pauseAfter())
	if spool != nil {
		defer spool.Discard()
	}
	// after a failure, the scheduler must learn of it before the next job starts
	if res.Outcome != job.Failed {
		select {
		case t.settling <- struct{}{}:
			defer func() { <-t.settling }()
			t.release(ctx)
		default:
		}
	}
	ended(t.settle(ctx, res, spool, workerFault))
	return res
}

// checkReady reports whether the job may run now. Otherwise it has been buried, finished or
// returned.
func (t *task) checkReady(ctx context.Context) bool {
	switch {
	case t.decodeErr != nil:
		t.bury(ctx, "", t.decodeErr, nil)
		return false
	case t.soft.Err() != nil:
		t.returnJob(0)
		return false
	case t.returnIfQueuePaused(ctx), t.needsState() && !t.begin(ctx):
		return false
	}
	return !t.returnIfPaused(ctx)
}

// needsState reports whether the job may have ended or begun before. A moved job may be in the queue twice.
func (t *task) needsState() bool { return t.delivery.Again() || t.place.Moves > 0 || t.visit != nil }

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

func (t *task) release(ctx context.Context) {
	if t.released {
		return
	}
	t.released = true
	t.mu.Lock()
	delete(t.begun, t)
	t.mu.Unlock()
	t.sched.Release(ctx)
	t.slots.Add(-1)
	t.pace.ended()
	t.prefetch.wakeNext()
}

// recordLease records that the job has a host lease or needs none. The prefetch buffer may then
// start another job.
func (t *task) recordLease() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.unleased {
		return
	}
	t.unleased = false
	if t.prefetch.unleased[t.host]--; t.prefetch.unleased[t.host] == 0 {
		delete(t.prefetch.unleased, t.host)
	}
	t.prefetch.wakeNext()
}

// work returns an error only for failures of the engine.
func (t *task) work(ctx context.Context) (*job.Result, Spool, error) {
	if t.visit != nil {
		return t.visit.retrieve(ctx)
	}
	var err error
	if t.earlier, err = t.loadEarlier(ctx); err != nil {
		return nil, nil, err
	}
	res, spool := t.transfer(ctx)
	if t.movedUnchanged(res) {
		spool.Discard()
		t.earlier = nil
		res, spool = t.transfer(ctx)
	}
	return res, spool, nil
}

// pauseAfter returns the pause that robots.txt requires after this transfer.
func (t *task) pauseAfter() time.Duration {
	if t.visit == nil {
		return 0
	}
	return t.visit.page.Delay
}

// returnIfQueuePaused returns the job if the queue was paused, or the store failed, after the job was
// scheduled, and reports that.
func (t *task) returnIfQueuePaused(ctx context.Context) bool {
	if pauses, _ := t.health.trouble(time.Now()); pauses {
		t.postpone(ctx, backoffs[fetch.ErrFile])
		return true
	}
	if s, err := t.Engine.State(ctx); err != nil || s != Paused {
		return false
	}
	t.postpone(ctx, stateInterval)
	return true
}

// returnIfPaused returns the job to the queue if its host is paused, and reports that.
func (t *task) returnIfPaused(ctx context.Context) bool {
	until, err := t.pauses.until(ctx, t.host)
	wait := time.Until(until)
	switch {
	case err != nil:
		wait = time.Second
	case wait <= 0:
		return false
	default:
		t.sched.Failed(t.host, &fetch.Error{Code: fetch.ErrBusy, RetryAfter: wait})
	}
	t.postpone(ctx, wait+rand.N(time.Second))
	return true
}

func (t *task) begin(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	finished, err := t.isFinished(ctx)
	if err == nil && finished {
		t.ack(ctx)
		return false
	}
	crashed := false
	if err == nil && t.delivery.Again() {
		t.record, err = updateRecord(ctx, t.Engine.Records(), t.sub.ID, true, func(r *record) {
			if crashed = len(r.Active) >= t.Crashes; !crashed {
				r.Active = append(r.Active, t.attempt)
			}
		})
	}
	if err == nil && crashed {
		why := fmt.Errorf("%d attempts were lost with their worker", len(t.record.Active))
		if t.record.Error != "" {
			why = fmt.Errorf("%w; before that: %s", why, t.record.Error)
		}
		e := &fetch.Error{Code: fetch.ErrInterrupted, Op: t.sub.Job.Op.String(),
			URL: t.sub.Job.URL.Redacted(), Err: why}
		t.bury(ctx, t.sub.ID, e, t.failed(e))
		return false
	}
	if err != nil {
		t.Logger.Warn("cannot read the state of a job", "id", t.sub.ID, "error", err)
		// the record may have been written although the response was lost
		t.pending.add(attempt{t.sub.ID, t.attempt})
		t.returnJob(engineRetryDelay())
		return false
	}
	return true
}

func (t *task) isFinished(ctx context.Context) (bool, error) {
	if t.visit == nil {
		return t.hasResult(ctx)
	}
	needed, err := t.visit.prepare(ctx)
	return !needed, err
}

func (t *task) hasResult(ctx context.Context) (bool, error) {
	return t.results.has(ctx, t.sub, t.place.Since)
}

// removeAttempt removes this attempt from the record, or schedules the removal if the engine is
// unreachable.
func (t *task) removeAttempt(ctx context.Context) {
	if t.record == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), operationTimeout)
	defer cancel()
	if _, err := updateRecord(ctx, t.Engine.Records(), t.sub.ID, false,
		withoutAttempt(t.attempt)); err != nil {
		t.pending.add(attempt{t.sub.ID, t.attempt})
	}
}

func (t *task) postpone(ctx context.Context, delay time.Duration) {
	t.removeAttempt(ctx)
	t.returnJob(delay)
}

func engineRetryDelay() time.Duration { return time.Second + rand.N(time.Second) }

func (t *task) transfer(ctx context.Context) (*job.Result, Spool) {
	if t.MaxTime > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, t.MaxTime,
			&fetch.Error{Code: fetch.ErrNetwork, Err: fmt.Errorf("not finished within %v", t.MaxTime)})
		defer end()
	}
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
	if t.earlier != nil {
		j.IfChanged = fetch.Validator{ETag: t.earlier.ETag, ModTime: t.earlier.ModTime}
	}
	if t.record != nil {
		j.Attempt = t.record.Failures
	}
	spool, err := t.Store.Begin()
	if err != nil {
		return t.failed(&fetch.Error{Code: fetch.ErrFile, Err: t.storeFailed(err)}), nil
	}
	w := &progressWriter{w: spool, t: t}
	hooks := &job.Hooks{
		Writer:   w,
		Progress: func(int64, int64) { t.recordProgress() },
		Response: func(*fetch.Response) error { t.recordProgress(); return nil },
		Retry: func(_ int, _ time.Duration, err error) {
			t.recordProgress()
			t.publishPause(ctx, &job.Result{Outcome: job.Failed, Class: fetch.CodeOf(err), Err: err})
			if until, err := t.pauses.until(ctx, t.host); err == nil && time.Until(until) > 0 {
				cancel(errPaused) // another worker learned that the host is busy
			}
		},
	}
	if t.visit != nil {
		t.visit.addHooks(ctx, hooks)
	}
	return t.Runner.Run(ctx, &j, hooks), spool
}

type progressWriter struct {
	w io.Writer
	t *task
}

func (c *progressWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil {
		err = c.t.storeFailed(err)
	}
	c.t.Metrics.add(countBytes, float64(n))
	c.t.recordProgress()
	return n, err
}

// storeFailed records a failure of the store, which is none of the job.
func (t *task) storeFailed(err error) error {
	t.Metrics.add(countEngineErrors, 1)
	t.Logger.Error("cannot store a body", "id", t.sub.ID, "url", t.sub.Job.URL, "error", err)
	t.health.storeFailed(err)
	return fmt.Errorf("%w: %w", errStore, err)
}

// failed returns the result of a job that failed before a transfer.
func (t *task) failed(err error) *job.Result {
	r := &job.Result{URL: t.sub.Job.URL.Redacted(), Op: t.sub.Job.Op, Outcome: job.Failed,
		Started: time.Now(), Size: -1,
		Class: fetch.CodeOf(err), Err: err}
	r.Message = fetch.Printable(err.Error())
	var fetchErr *fetch.Error
	if errors.As(err, &fetchErr) {
		r.Message, r.Retry, r.RetryAfter = fetchErr.Message(), fetchErr.Retry, fetchErr.RetryAfter
	}
	return r
}

func (t *task) publishPause(ctx context.Context, res *job.Result) {
	if res.Outcome != job.Failed || res.Class != fetch.ErrBusy && res.RetryAfter <= 0 {
		return
	}
	wait := min(max(res.RetryAfter, time.Second), maxRetryAfter)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), operationTimeout)
	defer cancel()
	if err := t.pauses.set(ctx, t.host, time.Now().Add(wait)); err != nil {
		t.Logger.Warn("cannot publish the pause of a busy host", "host", t.host, "error", err)
	}
}

// settle finishes the job or returns it for a retry. If workerFault is true, a failure was caused
// by the worker and does not count. It returns the result, which may change for a page, and the
// error if the result could not be stored or published.
func (t *task) settle(ctx context.Context, res *job.Result, spool Spool,
	workerFault bool) (*job.Result, error) {
	if res.Outcome == job.Failed && (workerFault || errors.Is(context.Cause(ctx), fetch.ErrInterrupted)) {
		wait := time.Duration(0)
		switch {
		case errors.Is(res.Err, errPaused):
			wait = time.Second
		case errors.Is(res.Err, errStore):
			wait = backoffs[fetch.ErrFile]
		}
		t.postpone(ctx, wait)
		return res, nil
	}
	if t.visit != nil {
		finished, err := t.visit.finish(ctx, res, spool)
		if err != nil {
			t.Metrics.add(countEngineErrors, 1)
			t.Logger.Warn("cannot queue the links of a page", "id", t.sub.ID, "url", t.sub.Job.URL, "error",
				err)
			t.postpone(ctx, engineRetryDelay())
			return res, err
		}
		res = finished
	}
	if res.Outcome == job.Failed && isTransient(res) {
		t.retryOrBury(ctx, res)
		return res, nil
	}
	path := ""
	if res.Outcome == job.Saved {
		var err error
		if path, err = spool.Commit(ctx, res.SHA256); err != nil {
			err = t.storeFailed(err)
			t.postpone(ctx, backoffs[fetch.ErrFile])
			return res, err
		}
		t.health.storeWorks()
	}
	if err := t.finish(ctx, res, path); err != nil {
		t.Logger.Error("cannot publish a result", "id", t.sub.ID, "url", t.sub.Job.URL, "error", err)
		t.returnJob(0)
		return res, err
	}
	t.Metrics.ended(t.sub.Job.URL.Scheme(), res)
	t.logEnd(res)
	return res, nil
}

func (t *task) logEnd(res *job.Result) {
	attrs := []any{"id", t.sub.ID, "url", t.sub.Job.URL, "outcome", res.Outcome, "class", res.Class, "bytes",
		max(res.Size, 0), "seconds", res.Elapsed.Seconds()}
	var e *fetch.Error
	if res.Outcome == job.Failed && errors.As(res.Err, &e) {
		hint := e.Hint
		if t.Hint != nil {
			hint = t.Hint(e)
		}
		attrs = append(attrs, "error", e.Message())
		if hint != "" {
			attrs = append(attrs, "hint", hint)
		}
	}
	t.Logger.Info("ended", attrs...)
}

func (t *task) retryOrBury(ctx context.Context, res *job.Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), operationTimeout)
	defer cancel()
	text := fetch.Printable(res.Err.Error())
	r, err := updateRecord(ctx, t.Engine.Records(), t.sub.ID, true, func(r *record) {
		withoutAttempt(t.attempt)(r)
		r.Failures++
		r.Error = text[:min(len(text), maxError)]
	})
	if err != nil {
		t.Logger.Warn("cannot record a failure", "id", t.sub.ID, "error", err)
		t.pending.add(attempt{t.sub.ID, t.attempt})
	}
	t.record = r
	t.Logger.Info("failed", "id", t.sub.ID, "url", t.sub.Job.URL, "failures", r.Failures, "error", r.Error)
	if t.Retry.Tries > 0 && r.Failures >= t.Retry.Tries {
		t.bury(ctx, t.sub.ID, res.Err, res)
		return
	}
	wait := pause(res, t.record.Failures, t.Retry, rand.N[time.Duration])
	t.Metrics.retried(t.sub.Job.URL.Scheme(), res)
	t.returnJob(wait)
}

// finish publishes the result and acknowledges the job. Only a job without a slot waits for others.
func (t *task) finish(ctx context.Context, res *job.Result, path string) error {
	if t.released && !t.isLong() {
		err := t.gather(res, path)
		if err == nil {
			t.deleteRecord(ctx)
			return nil
		}
		t.Logger.Debug("cannot finish jobs together", "error", err)
	}
	if err := t.put(ctx, res, path); err != nil {
		return err
	}
	t.ack(ctx)
	return nil
}

func (t *task) put(ctx context.Context, res *job.Result, path string) error {
	data, err := json.Marshal(newEvent(t, res, path))
	if err != nil {
		return err
	}
	if t.Sync != nil {
		if err := t.Sync(); err != nil {
			return err
		}
	}
	return t.persist(ctx, func(ctx context.Context) error {
		if t.isLong() {
			if finished, err := t.hasResult(ctx); finished || err != nil {
				return err
			}
		}
		return t.Engine.PutResult(ctx, t.sub.ID, data)
	})
}

// isLong reports whether the worker has had the job for so long that a result of another worker may have been
// moved to a segment since. The engine would accept a second one.
func (t *task) isLong() bool { return time.Since(t.arrived) > MinAge/2 }

func (t *task) ack(ctx context.Context) {
	if err := t.persist(ctx, t.delivery.Ack); err != nil {
		t.Logger.Warn("cannot acknowledge a job; it will be delivered again", "id", t.sub.ID, "error", err)
		return
	}
	t.deleteRecord(ctx)
}

func (t *task) deleteRecord(ctx context.Context) {
	if t.record != nil {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), operationTimeout)
		defer cancel()
		t.Engine.Records().Delete(short, t.sub.ID, 0) // otherwise it expires
	}
}

// persist retries an operation that must not fail because of a lost response or a leader election:
// otherwise the finished job would be executed again.
func (t *task) persist(ctx context.Context, do func(context.Context) error) error {
	hard, ctx := ctx, context.WithoutCancel(ctx)
	var err error
	for try, started := 0, time.Now(); try < 3 ||
		time.Since(started) < 2*operationTimeout && hard.Err() == nil; try++ {
		if try > 0 {
			retry.Sleep(ctx, min(200*time.Millisecond<<(try-1), 2*time.Second))
		}
		short, cancel := context.WithTimeout(ctx, operationTimeout)
		err = do(short)
		cancel()
		if err == nil || errors.Is(err, ErrClosed) {
			return err
		}
	}
	t.Metrics.add(countEngineErrors, 1)
	return err
}

// bury publishes a dead letter for the job, and a result if res is not nil.
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
		t.Logger.Error("cannot publish a dead letter", "error", err)
		t.returnJob(time.Second)
		return
	}
	t.Metrics.add(countDead, 1)
	t.Logger.Warn("dead letter", "id", id, "error", letter.Error)
	if t.sub == nil {
		t.sub = &submission{ID: id} // for log messages
	}
	t.ack(ctx)
}
