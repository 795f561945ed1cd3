package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/queue"
)

// A puller prefetches a few jobs from the streams. It extends their deliveries, and returns them to
// the streams if no caller waits for a job.
type puller struct {
	tasks sync.WaitGroup

	mu         sync.Mutex // guards the fields below
	prefetched map[queue.Priority][]prefetchedJob
	empty      map[queue.Priority]bool // streams that are probably empty
	changed    chan struct{}           // closed when a job arrives or an error occurs
	demand     chan struct{}           // closed when a caller waits or a job was returned by Next
	waiting    int                     // number of waiting callers
	cancelled  bool                    // the last waiting caller was cancelled
	last       time.Time               // time when Next last returned a job
	err        error                   // error of the last fetch
	stalled    map[queue.Priority]int64
	delivered  uint
	closed     bool
}

type prefetchedJob struct {
	js.Msg
	at time.Time
}

const (
	// prefetchSize is the number of jobs of a priority to prefetch. More are requested when less
	// than half of them are left.
	prefetchSize = 8
	// fetchWait is how long a request waits on an empty stream. After emptyAfter a stream counts as
	// empty if no job waits in it, so that lower priorities get their turn. Other workers may have
	// taken its jobs. After undelivered it counts as empty if jobs wait and the server delivers none.
	fetchWait   = 20 * time.Second
	emptyAfter  = 250 * time.Millisecond
	undelivered = 5 * time.Second
	// requestFor is how long jobs are requested after Next returned one. prefetchedFor is how long
	// they are kept before they return to the stream for other workers.
	requestFor    = time.Second
	prefetchedFor = 5 * time.Second
	// After lowPriorityInterval jobs the lowest priority is preferred once, so that no priority
	// starves.
	lowPriorityInterval = 16
)

func (e *Engine) pull() {
	p := &e.puller
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.prefetched, p.empty = map[queue.Priority][]prefetchedJob{}, map[queue.Priority]bool{}
	p.stalled = map[queue.Priority]int64{}
	p.changed, p.demand = make(chan struct{}), make(chan struct{})
	for _, priority := range queue.Priorities {
		p.tasks.Go(func() { e.pullFrom(priority) })
	}
	p.tasks.Go(func() { p.extend(e.ctx, e.limits.AckWait/3, e.opts.prefetchedFor) })
}

// pullFrom requests jobs of a priority whenever few are left.
func (e *Engine) pullFrom(priority queue.Priority) {
	p := &e.puller
	if b, err := e.backlog(e.ctx, priority); err == nil {
		if b.waiting() <= 0 {
			p.markEmpty(priority)
		}
		if b.isStuck() {
			p.tasks.Go(func() { e.restoreOwn(priority) })
		}
	}
	failures := 0
	firstCheck := emptyAfter // when the next fetch first looks whether the stream is empty
	var progress stall
	for e.ctx.Err() == nil {
		p.mu.Lock()
		n, demand := prefetchSize-len(p.prefetched[priority]), p.demand
		idle := p.waiting == 0 && (p.cancelled || time.Since(p.last) > requestFor)
		p.mu.Unlock()
		if n < prefetchSize/2 || idle {
			select {
			case <-demand:
			case <-e.ctx.Done():
			}
			continue
		}
		got := 0
		err := e.operations.guard(e.ctx, func(ctx context.Context) (err error) {
			got, err = e.fetch(ctx, priority, n, firstCheck)
			return err
		}, e.consumers[priority].CachedInfo().Stream)
		if e.ctx.Err() != nil {
			return
		}
		if got > 0 {
			progress = stall{}
			e.setStalled(priority, 0)
		} else if err == nil {
			e.checkStall(priority, &progress)
		}
		p.mu.Lock()
		p.err = err
		firstCheck = emptyAfter
		switch {
		case err != nil:
			p.empty[priority] = true
			p.wake()
		case got == n && p.empty[priority]:
			// Nothing was pending when the last job was sent, but the server may have learned of
			// more since, and no request waits for them.
			p.empty[priority] = false
			firstCheck = 0
		}
		p.mu.Unlock()
		if err == nil {
			failures = 0
			continue
		}
		if failures++; failures == 3 && len(e.conn.Servers()) > 1 && e.conn.IsConnected() {
			failures = 0
			e.opts.Logger.Warn("the connected server does not respond; connecting to another one", "server",
				e.conn.ConnectedServerName(), "error", err)
			e.conn.ForceReconnect()
		}
		retry.Sleep(e.ctx, time.Second)
	}
}

// fetch requests up to n jobs, adds them to the puller and returns their number. If none arrives, it
// checks whether the stream is empty, first after the given time and then every emptyAfter.
func (e *Engine) fetch(ctx context.Context, priority queue.Priority, n int,
	firstCheck time.Duration) (got int, _ error) {
	p := &e.puller
	ctx, cancel := context.WithTimeout(ctx, e.opts.fetchWait)
	defer cancel()
	var timer *time.Timer
	set := make(chan struct{}) // closed when timer is set
	began := time.Now()
	timer = time.AfterFunc(firstCheck, func() {
		<-set
		b, err := e.backlog(ctx, priority)
		switch {
		case ctx.Err() != nil: // the request has ended
		case err == nil && b.waiting() > 0 && time.Since(began) < undelivered:
			timer.Reset(emptyAfter)
		default:
			p.markEmpty(priority)
		}
	})
	close(set)
	defer timer.Stop()
	batch, err := e.consumers[priority].Fetch(n, js.FetchContext(ctx), js.FetchHeartbeat(e.opts.fetchWait/5))
	if err != nil {
		return 0, err
	}
	for msg := range batch.Messages() {
		got++
		timer.Reset(emptyAfter)
		p.mu.Lock()
		if p.cancelled { // requested before the cancellation
			msg.Nak()
			p.mu.Unlock()
			continue
		}
		p.prefetched[priority] = append(p.prefetched[priority], prefetchedJob{msg, time.Now()})
		meta, err := msg.Metadata()
		p.empty[priority] = err != nil || meta.NumPending == 0
		p.wake()
		p.err = nil
		p.mu.Unlock()
	}
	if why := context.Cause(ctx); errors.Is(why, nats.ErrPermissionViolation) {
		return got, why
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) &&
		!errors.Is(err, context.Canceled) {
		return got, err
	}
	return got, nil
}

func (p *puller) markEmpty(priority queue.Priority) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.empty[priority] = true
	p.wake()
}

// wake wakes callers of Next. The caller holds p.mu.
func (p *puller) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// signalDemand wakes the goroutines that request jobs. The caller holds p.mu.
func (p *puller) signalDemand() {
	close(p.demand)
	p.demand = make(chan struct{})
}

// extend periodically extends the deliveries of prefetched jobs, and returns those that are older
// than limit.
func (p *puller) extend(ctx context.Context, every, limit time.Duration) {
	tick := time.NewTicker(min(every, limit))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		for priority, list := range p.prefetched {
			rest := list[:0:0]
			for _, msg := range list {
				if time.Since(msg.at) > limit {
					msg.Nak() // otherwise it is redelivered later
					continue
				}
				msg.InProgress() // prevents redelivery
				rest = append(rest, msg)
			}
			p.prefetched[priority] = rest
		}
		p.mu.Unlock()
	}
}

// take returns the next job, or nil if there is none. Lower priorities follow if higher ones are
// empty, or when it is their turn. The caller holds p.mu.
func (p *puller) take() (js.Msg, queue.Priority) {
	lowFirst := p.delivered%lowPriorityInterval == lowPriorityInterval-1
	for i := range queue.Priorities {
		priority := queue.Priorities[i]
		if lowFirst {
			priority = queue.Priorities[len(queue.Priorities)-1-i]
		}
		if list := p.prefetched[priority]; len(list) > 0 {
			p.prefetched[priority] = list[1:]
			p.delivered++
			p.last = time.Now()
			p.signalDemand()
			return list[0].Msg, priority
		}
		if !p.empty[priority] && !lowFirst {
			return nil, "" // a job of higher priority may arrive at once
		}
	}
	return nil, ""
}

func (p *puller) close() {
	p.tasks.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.returnPrefetched()
}

// returnPrefetched returns the prefetched jobs to their streams. The caller holds p.mu.
func (p *puller) returnPrefetched() {
	for priority, list := range p.prefetched {
		for _, msg := range list {
			msg.Nak() // otherwise it is redelivered later
		}
		delete(p.prefetched, priority)
	}
}

func (p *puller) addWaiting(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting += n
	if n > 0 && !p.closed {
		p.cancelled = false
		p.signalDemand()
	}
}

// stopWaiting records that a caller stops waiting. If ctx was cancelled and no other caller waits,
// prefetched and arriving jobs return to their streams until a caller waits again.
func (p *puller) stopWaiting(ctx context.Context, callers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting > callers || !errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	p.cancelled = true
	p.returnPrefetched()
}

// Next implements queue.Engine.
func (e *Engine) Next(ctx context.Context) (queue.Delivery, error) {
	e.pulling.Do(e.pull)
	p := &e.puller
	if err := ctx.Err(); err != nil {
		p.stopWaiting(ctx, 0)
		return nil, err
	}
	p.addWaiting(1)
	defer p.addWaiting(-1)
	for {
		p.mu.Lock()
		if e.ctx.Err() != nil || p.closed {
			p.mu.Unlock()
			return nil, queue.ErrClosed
		}
		msg, priority := p.take()
		changed, err := p.changed, p.err
		p.mu.Unlock()
		if msg != nil {
			return newDelivery(e, msg, priority), nil
		}
		if err != nil {
			p.mu.Lock()
			p.err = nil // each error is returned once
			p.mu.Unlock()
			return nil, explain(&e.opts, err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			p.stopWaiting(ctx, 1)
			return nil, ctx.Err()
		case <-e.ctx.Done():
			return nil, queue.ErrClosed
		}
	}
}
