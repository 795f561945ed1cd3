package queue

import (
	"sync"
	"time"
)

// A gathering makes jobs publish their results together. Servers with replicas need one round trip
// between them for messages that arrive together. An atomic batch of JetStream saves no more than that,
// and costs more on a single server.
type gathering struct {
	mu      sync.Mutex
	waiting int           // number of waiting jobs
	open    chan struct{} // closed when the waiting jobs may publish
	timer   *time.Timer
}

const (
	maxGathered = 64
	gatherFor   = 50 * time.Millisecond
)

// wait waits for other jobs, unless last is true.
func (g *gathering) wait(last bool) {
	g.mu.Lock()
	if g.waiting++; g.waiting == 1 {
		g.open = make(chan struct{})
		g.timer = time.AfterFunc(gatherFor, g.release)
	}
	open := g.open
	last = last || g.waiting == maxGathered
	g.mu.Unlock()
	if last {
		g.release()
	}
	<-open
}

func (g *gathering) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting > 0 {
		g.timer.Stop()
		close(g.open)
		g.waiting = 0
	}
}

// gather waits for other jobs that publish their results, unless the worker has no job that could.
func (t *task) gather() {
	t.mu.Lock()
	if !t.gathered {
		t.gathered = true
		t.settled++
	}
	last := t.settled >= len(t.unfinished)
	t.mu.Unlock()
	t.gathering.wait(last)
}
