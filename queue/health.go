package queue

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// storePause is how long a worker starts no jobs after its store has refused a body. Without it, a
	// worker with a full disk would retrieve each job again and again.
	storePause = 30 * time.Second
	// heldTooLong is the age of the youngest running job at which a worker without a free slot is no
	// longer ready.
	heldTooLong = 10 * time.Minute
)

// health is what keeps a worker from starting jobs.
type health struct {
	mu    sync.Mutex
	err   error     // of the store
	until time.Time // no jobs start before
}

func (h *health) storeFailed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err, h.until = err, time.Now().Add(storePause)
}

func (h *health) storeWorks() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = nil
}

// trouble returns the failure of the store, or nil, and reports whether jobs wait. After the pause they try
// the store again; until one has succeeded, the worker is not ready.
func (h *health) trouble(now time.Time) (pauses bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		return false, nil
	}
	return now.Before(h.until), fmt.Errorf("the store failed: %w", h.err)
}

// hold records that t holds a slot, until release.
func (r *run) hold(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun[t] = time.Now()
}

// ages returns the number of running jobs, and the ages of the oldest and of the youngest one.
func (r *run) ages(now time.Time) (n int, oldest, youngest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, begun := range r.begun {
		age := now.Sub(begun)
		if n++; n == 1 {
			youngest = age
		}
		oldest, youngest = max(oldest, age), min(youngest, age)
	}
	return n, oldest, youngest
}

// measure updates the report and the metrics of the worker.
func (r *run) measure(ctx context.Context, report *WorkerReport, now time.Time) {
	n, oldest, youngest := r.ages(now)
	_, err := r.health.trouble(now)
	if err == nil && r.Check != nil {
		err = r.Check(ctx)
	}
	if err == nil && n >= r.Parallel && youngest > heldTooLong {
		err = fmt.Errorf("all %d jobs have been running for more than %v", n, heldTooLong)
	}
	report.Running, report.Oldest = n, oldest.Round(time.Second).Seconds()
	report.Trouble = ""
	if err != nil {
		report.Trouble = err.Error()
	}
	r.Metrics.observe(report.Running, oldest, err)
}
