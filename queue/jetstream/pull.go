package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/queue"
)

// A puller takes jobs from the streams, a few ahead of those who wait for them. What it has it keeps
// from being taken for lost, and gives back if nobody wants it.
type puller struct {
	tasks sync.WaitGroup

	mu      sync.Mutex // for all below
	have    map[queue.Priority][]arrived
	empty   map[queue.Priority]bool // streams of which nothing is to be expected at once
	changed chan struct{}           // closed when something came, or went wrong
	wanted  chan struct{}           // closed when somebody waits, or something was handed out
	waiting int                     // who wait
	enough  bool                    // the last one who waited wants no more
	last    time.Time               // when something was handed out
	err     error                   // of the last attempt; nil after one that went well
	handed  uint
	closed  bool
}

// What has arrived is a job and when it came.
type arrived struct {
	js.Msg
	at time.Time
}

const (
	// ahead is how many jobs of a priority are asked for at once, when there are fewer than half.
	ahead = 8
	// fetchWait is for how long an empty stream is asked for jobs, and emptyAfter when a stream of which
	// more was expected counts as empty, so that less urgent jobs have their turn: other workers may
	// have taken the rest.
	fetchWait  = 20 * time.Second
	emptyAfter = 250 * time.Millisecond
	// wantedFor is for how long jobs are asked for after the last one was handed out, and keptFor how
	// long they wait here before they go back, for other workers.
	wantedFor = time.Second
	keptFor   = 5 * time.Second
	// every so many jobs the lowest priority comes first, so that none starves.
	turnOfLow = 16
)

func (e *Engine) pull() {
	p := &e.puller
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.have, p.empty = map[queue.Priority][]arrived{}, map[queue.Priority]bool{}
	p.changed, p.wanted = make(chan struct{}), make(chan struct{})
	for _, priority := range queue.Priorities {
		p.tasks.Go(func() { e.pullFrom(priority) })
	}
	p.tasks.Go(func() { p.extend(e.ctx, e.limits.AckWait/3) })
}

// pullFrom asks the stream of a priority for jobs whenever there are few.
func (e *Engine) pullFrom(priority queue.Priority) {
	p := &e.puller
	if info, err := e.consumers[priority].Info(e.ctx); err == nil && info.NumPending == 0 {
		p.expectNothing(priority)
	}
	failures := 0
	for e.ctx.Err() == nil {
		p.mu.Lock()
		n, wanted := ahead-len(p.have[priority]), p.wanted
		idle := p.waiting == 0 && (p.enough || time.Since(p.last) > wantedFor)
		p.mu.Unlock()
		if n < ahead/2 || idle {
			select {
			case <-wanted:
			case <-e.ctx.Done():
			}
			continue
		}
		err := e.fetch(priority, n)
		if e.ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.err = err
		if err != nil {
			p.empty[priority] = true
			p.wake()
		}
		p.mu.Unlock()
		if err == nil {
			failures = 0
			continue
		}
		if failures++; failures == 3 && len(e.conn.Servers()) > 1 && e.conn.IsConnected() {
			failures = 0
			e.opts.Logger.Warn("the server is connected but does not answer: trying another one", "server", e.conn.ConnectedServerName(), "error", err)
			e.conn.ForceReconnect()
		}
		select {
		case <-time.After(time.Second):
		case <-e.ctx.Done():
		}
	}
}

// fetch asks for up to n jobs and takes what comes.
func (e *Engine) fetch(priority queue.Priority, n int) error {
	p := &e.puller
	ctx, cancel := context.WithTimeout(e.ctx, fetchWait)
	defer cancel()
	nothing := time.AfterFunc(emptyAfter, func() { p.expectNothing(priority) })
	defer nothing.Stop()
	batch, err := e.consumers[priority].Fetch(n, js.FetchContext(ctx), js.FetchHeartbeat(4*time.Second))
	if err != nil {
		return err
	}
	for msg := range batch.Messages() {
		nothing.Reset(emptyAfter)
		p.mu.Lock()
		if p.enough { // it was asked for before that
			msg.Nak()
			p.mu.Unlock()
			continue
		}
		p.have[priority] = append(p.have[priority], arrived{msg, time.Now()})
		meta, err := msg.Metadata()
		p.empty[priority] = err != nil || meta.NumPending == 0
		p.wake()
		p.err = nil
		p.mu.Unlock()
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// expectNothing notes that a stream is empty, for all that is known.
func (p *puller) expectNothing(priority queue.Priority) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.empty[priority] = true
	p.wake()
}

// wake lets Next look. The puller is locked.
func (p *puller) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// want lets the streams be asked. The puller is locked.
func (p *puller) want() {
	close(p.wanted)
	p.wanted = make(chan struct{})
}

// extend tells the server again and again that what is here is not lost, and gives back what is here
// for too long.
func (p *puller) extend(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(min(every, keptFor))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		for priority, list := range p.have {
			kept := list[:0:0]
			for _, msg := range list {
				if time.Since(msg.at) > keptFor {
					msg.Nak() // or it is delivered again later
					continue
				}
				msg.InProgress() // or it is delivered twice
				kept = append(kept, msg)
			}
			p.have[priority] = kept
		}
		p.mu.Unlock()
	}
}

// take returns the job that is next; nil if there is none. A less urgent one comes only if there are
// no others, or if it is its turn. The puller is locked.
func (p *puller) take() (js.Msg, queue.Priority) {
	turn := p.handed%turnOfLow == turnOfLow-1
	for i := range queue.Priorities {
		priority := queue.Priorities[i]
		if turn {
			priority = queue.Priorities[len(queue.Priorities)-1-i]
		}
		if list := p.have[priority]; len(list) > 0 {
			p.have[priority] = list[1:]
			p.handed++
			p.last = time.Now()
			p.want()
			return list[0].Msg, priority
		}
		if !p.empty[priority] && !turn {
			return nil, "" // something may come at once
		}
	}
	return nil, ""
}

// close gives back what was not handed out.
func (p *puller) close() {
	p.tasks.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.giveBack()
}

// giveBack gives back what is here. The puller is locked.
func (p *puller) giveBack() {
	for priority, list := range p.have {
		for _, msg := range list {
			msg.Nak() // or it is delivered again later
		}
		delete(p.have, priority)
	}
}

// waits notes that somebody waits, or no more.
func (p *puller) waits(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting += n
	if n > 0 && !p.closed {
		p.enough = false
		p.want()
	}
}

// gone notes that who waits, or was about to, does so no more. If ctx was cancelled and nobody else
// waits, what is here goes back, and what comes until somebody waits again.
func (p *puller) gone(ctx context.Context, me int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting > me || !errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	p.enough = true
	p.giveBack()
}

// Next implements queue.Engine.
func (e *Engine) Next(ctx context.Context) (queue.Delivery, error) {
	e.pulling.Do(e.pull)
	p := &e.puller
	if err := ctx.Err(); err != nil {
		p.gone(ctx, 0)
		return nil, err
	}
	p.waits(1)
	defer p.waits(-1)
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
			again := true
			if meta, err := msg.Metadata(); err == nil {
				again = meta.NumDelivered > 1
			}
			return &delivery{msg, priority, again}, nil
		}
		if err != nil {
			p.mu.Lock()
			p.err = nil // it is told once
			p.mu.Unlock()
			return nil, explain(&e.opts, err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			p.gone(ctx, 1)
			return nil, ctx.Err()
		case <-e.ctx.Done():
			return nil, queue.ErrClosed
		}
	}
}

type delivery struct {
	msg      js.Msg
	priority queue.Priority
	again    bool
}

func (d *delivery) Data() []byte                  { return d.msg.Data() }
func (d *delivery) Priority() queue.Priority      { return d.priority }
func (d *delivery) Again() bool                   { return d.again }
func (d *delivery) Ack(ctx context.Context) error { return d.msg.DoubleAck(ctx) }
func (d *delivery) Extend() error                 { return d.msg.InProgress() }
func (d *delivery) Return(delay time.Duration) error {
	return d.msg.NakWithDelay(max(delay, time.Millisecond))
}
