package queue

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch/job"
)

// A gathering makes jobs finish together, with fewer messages and waits than one at a time.
type gathering struct {
	finish func([]Finished) []error
	mu     sync.Mutex
	open   *group // waits for more jobs; nil if no job waits
}

type group struct {
	jobs  []Finished // guarded by gathering.mu, until the group is closed
	timer *time.Timer
	done  chan struct{} // closed when errs is set
	errs  []error
}

const (
	maxGathered = 64
	gatherFor   = 50 * time.Millisecond
)

// add waits for other jobs, unless last is true, and until they are finished.
func (g *gathering) add(f Finished, last bool) error {
	g.mu.Lock()
	w := g.open
	if w == nil {
		w = &group{done: make(chan struct{})}
		w.timer = time.AfterFunc(gatherFor, func() { g.close(w) })
		g.open = w
	}
	i := len(w.jobs)
	w.jobs = append(w.jobs, f)
	last = last || len(w.jobs) == maxGathered
	g.mu.Unlock()
	if last {
		g.close(w)
	}
	<-w.done
	return w.errs[i]
}

// close finishes the jobs of a group, once.
func (g *gathering) close(w *group) {
	g.mu.Lock()
	first := g.open == w
	if first {
		g.open = nil
	}
	g.mu.Unlock()
	if first {
		w.timer.Stop()
		w.errs = g.finish(w.jobs)
		close(w.done)
	}
}

// gather finishes the job with others. It does not wait for them if the worker has no job that could
// join them. After an error, the job may have a result and may be acknowledged.
func (t *task) gather(res *job.Result, path string) error {
	data, err := json.Marshal(newEvent(t, res, path))
	if err != nil {
		return err
	}
	t.mu.Lock()
	if !t.gathered {
		t.gathered = true
		t.settled++
	}
	last := t.settled >= len(t.unfinished)
	t.mu.Unlock()
	return t.gathering.add(Finished{t.delivery, t.sub.ID, data}, last)
}

// finishAll finishes gathered jobs, without repetitions.
func (r *run) finishAll(jobs []Finished) []error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.soft), operationTimeout)
	defer cancel()
	if r.Sync != nil {
		if err := r.Sync(); err != nil {
			errs := make([]error, len(jobs))
			for i := range errs {
				errs[i] = err
			}
			return errs
		}
	}
	return r.Engine.Finish(ctx, jobs)
}
