package queue

import (
	"math/rand/v2"
	"time"
)

// A hostReturns is the timetable of the jobs of a host that have no place in the worker. They come back
// one after another, about as fast as the worker ends jobs of the host. So a host with many jobs does not
// keep the worker from taking others, and does not wait for its own.
type hostReturns struct {
	next time.Time // when the last of them comes back
	pace pace      // of the host's jobs
}

const (
	// minReturnRate is the number of jobs per second that come back to a worker even if the host ends none.
	minReturnRate = 100
	minDeferral   = time.Second
	maxDeferral   = 5 * time.Minute
)

// returnBusy returns a job of a busy host to the queue.
func (r *run) returnBusy(t *task) {
	r.Metrics.add(countDeferred, 1)
	t.returnJob(r.deferral(t.host, time.Now()))
}

// deferral returns how long the next job of a host stays away.
func (r *run) deferral(host string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.returns[host]
	if h == nil {
		if len(r.returns) > maxPauses {
			clear(r.returns)
		}
		h = &hostReturns{pace: pace{since: now}}
		r.returns[host] = h
	}
	if first := now.Add(minDeferral); h.next.Before(first) {
		h.next = first
	}
	h.next = h.next.Add(time.Second / time.Duration(max(minReturnRate, h.pace.within(2*time.Second))))
	if delay := h.next.Sub(now); delay < maxDeferral {
		return delay
	}
	h.next = now.Add(maxDeferral)
	return maxDeferral/2 + rand.N(maxDeferral/2)
}

// countEnd counts a job for the pace of its host.
func (r *run) countEnd(host string) {
	r.pace.ended()
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.returns[host]; h != nil {
		h.pace.ended()
	}
}
