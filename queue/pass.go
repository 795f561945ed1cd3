package queue

import (
	"context"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A pass moves the jobs of slow hosts behind all others of their priority, so that the jobs of other hosts
// reach the worker. It ends at jobs that were moved recently, by any worker. Jobs that may have started are
// not moved, because they have a record that an attempt at a moved job would not read.
type pass struct {
	next     time.Time // earliest start
	returned int       // jobs returned since the last move
	moved    uint64    // jobs moved in this pass
}

const (
	// slowAfter is how long a job waits in the buffer until its host counts as slow, for slowFor.
	slowAfter = 5 * time.Second
	slowFor   = 30 * time.Second
	// maxMoving limits the jobs that are being moved.
	maxMoving = 64
	// A moved job waits for minMoveInterval until it may be moved again, and each time
	// moveIntervalGrowth as long, up to maxMoveInterval, or moveCost for each job that would also be moved.
	// So a slow host causes at most 100 moves per second in a long queue, after the first pass.
	minMoveInterval    = time.Minute
	moveIntervalGrowth = 4
	maxMoveInterval    = 10 * time.Minute
	moveCost           = 10 * time.Millisecond
	// moveRetryInterval is how long no jobs are moved after a failure.
	moveRetryInterval = 10 * time.Second
)

// markSlow marks the host of a queue as slow if its oldest job has waited long.
func (l *prefetch) markSlow(p *hostQueue, now time.Time) {
	if now.Sub(p.tasks[0].arrived) < slowAfter {
		return
	}
	if len(l.slow) > maxPauses {
		clear(l.slow)
	}
	l.slow[p.host] = now.Add(slowFor)
}

// A decision is how a full buffer makes room.
type decision int

const (
	keepJob   decision = iota // a job is returned, but not at once
	returnJob                 // the job is returned at once
	moveJob                   // the job is moved
)

func (l *prefetch) decide(t *task, now, movable time.Time) decision {
	p := l.passes[t.delivery.Priority()]
	if p == nil {
		p = &pass{}
		l.passes[t.delivery.Priority()] = p
	}
	if now.After(l.slow[t.host]) || now.Before(movable) || now.Before(p.next) {
		return keepJob
	}
	interval := moveInterval(t.place)
	age := max(now.Sub(t.place.Since), 0) // whatever the clock of the engine says
	switch {
	case t.delivery.Again() && p.returned < prefetchJobs*l.n:
		p.returned++
		return returnJob
	case t.delivery.Again(), t.place.Behind == 0, p.moved > 2*t.place.Behind+uint64(l.n):
		p.next = now.Add(minMoveInterval)
	case t.place.Moves == 0 || age > interval:
		p.moved++
		p.returned = 0
		return moveJob
	default:
		p.next = now.Add(interval - age)
	}
	p.returned, p.moved = 0, 0
	return keepJob
}

func moveInterval(p Place) time.Duration {
	limit := max(maxMoveInterval, time.Duration(p.Behind)*moveCost)
	interval := minMoveInterval
	for range p.Moves - 1 {
		if interval *= moveIntervalGrowth; interval > limit {
			return limit
		}
	}
	return interval
}

func (r *run) movesFailUntil() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prefetch.movable
}

// move moves a job of the buffer, and reports whether it could begin. If it fails, the job is returned.
func (r *run) move(queue, k int) bool {
	l := r.prefetch
	select {
	case l.moving <- struct{}{}:
	default:
		return false
	}
	t := l.remove(queue, k)
	l.requests.Go(func() {
		defer l.wakeNext()
		defer func() { <-l.moving }()
		// A stopping worker finishes the move: otherwise the job might be in the queue twice.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.soft), operationTimeout)
		defer cancel()
		err := t.delivery.Move(ctx)
		if err == nil {
			r.Metrics.add(countDeferred, 1)
			t.drop()
			return
		}
		r.returnBusy(t)
		r.moveFailed(err)
	})
	return true
}

func (r *run) moveFailed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	until := time.Now().Add(moveRetryInterval)
	if fetch.CodeOf(err) == fetch.ErrRefused { // the worker may take jobs, but not submit any
		until = time.Now().Add(maxRetryAfter)
	}
	if time.Now().After(r.prefetch.movable) {
		r.Logger.Warn("cannot move the jobs of a slow host behind others; they may wait for it", "error", err)
	}
	r.prefetch.movable = until
}
