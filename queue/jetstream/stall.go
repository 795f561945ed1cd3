package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/urlget/urlget/queue"
)

// stallAfter is how long jobs may wait while the server delivers none to any worker. The leaders of a
// stream and of its consumer may disagree after all servers have failed.
const stallAfter = 30 * time.Second

// A stall is the progress of a priority while requests bring no jobs.
type stall struct {
	since     time.Time // the last progress, or the last warning
	delivered uint64    // deliveries to all workers until then
}

// checkStall is called after a request without jobs. If jobs wait and none is delivered, it logs that
// and asks for another leader of the consumer.
func (e *Engine) checkStall(p queue.Priority, s *stall) {
	ctx, cancel := context.WithTimeout(e.ctx, 5*time.Second)
	defer cancel()
	b, err := e.backlog(ctx, p)
	if err != nil {
		return
	}
	c, waiting := b.consumer, b.waiting()
	if s.since.IsZero() || waiting <= 0 || c.NumAckPending >= maxTaken ||
		c.Delivered.Consumer != s.delivered {
		*s = stall{time.Now(), c.Delivered.Consumer}
		e.setStalled(p, 0)
		return
	}
	if time.Since(s.since) < e.opts.stallAfter {
		return
	}
	s.since = time.Now()
	e.setStalled(p, waiting)
	e.opts.Logger.Warn("jobs wait, but the server delivers none; asking for another leader", "priority", p,
		"waiting", waiting)
	if _, err := e.conn.RequestWithContext(ctx, "$JS.API.CONSUMER.LEADER.STEPDOWN."+c.Stream+"."+c.Name,
		nil); err != nil {
		e.opts.Logger.Warn("cannot ask for another leader", "error", err)
	}
	if b.isStuck() {
		e.restoreOwn(p)
	}
}

func (e *Engine) setStalled(p queue.Priority, waiting int64) {
	e.puller.mu.Lock()
	defer e.puller.mu.Unlock()
	e.puller.stalled[p] = waiting
}

func (e *Engine) stallError() error {
	e.puller.mu.Lock()
	defer e.puller.mu.Unlock()
	for _, p := range queue.Priorities {
		if n := e.puller.stalled[p]; n > 0 {
			return fmt.Errorf("%d jobs of %s priority wait, and the server delivers none", n, p)
		}
	}
	return nil
}
