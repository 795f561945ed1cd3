package download

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// New connections get the time settle before their rate is measured for the time measure.
	settle  = 250 * time.Millisecond
	measure = 250 * time.Millisecond
	// maxGrown bounds the connections of AutoSegments.
	maxGrown = 16
	// worthwhile is the factor by which the total rate must grow for more connections to pay off.
	worthwhile = 1.15
)

// grow doubles the number of workers as long as the total rate grows and enough bytes are missing.
func (s *scheduler) grow(ctx context.Context, group *errgroup.Group) error {
	best := 0.0
	for {
		if !s.pause(ctx, settle) {
			return nil
		}
		before, begun := s.progress(), time.Now()
		if !s.pause(ctx, measure) {
			return nil
		}
		rate := float64(s.progress()-before) / time.Since(begun).Seconds()
		if rate < best*worthwhile || !s.doubleWorkers(ctx, group, rate) {
			return nil
		}
		best = rate
	}
}

// pause waits for d. It returns false if the transfer ends first.
func (s *scheduler) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ended:
	case <-ctx.Done():
	}
	return false
}

func (s *scheduler) progress() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// doubleWorkers starts as many workers as are running, unless the rest will arrive soon at rate, in
// bytes per second. It reports whether it started any.
func (s *scheduler) doubleWorkers(ctx context.Context, group *errgroup.Group, rate float64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.transfer.want - s.transfer.done
	if s.failure != nil || float64(left) < rate*(settle+measure).Seconds() {
		return false
	}
	grown := false
	for range min(s.workers, maxGrown-s.workers) {
		piece := s.segmentForNewWorker()
		if piece == nil {
			break
		}
		grown = true
		s.workers++
		group.Go(func() error { return s.work(ctx, piece, nil) })
	}
	return grown
}

// segmentForNewWorker returns a segment for one more worker: one from the queue, or the second half
// of the largest. It returns nil if all segments are small.
func (s *scheduler) segmentForNewWorker() *span {
	if len(s.queue) > 0 {
		piece := s.queue[0]
		s.queue = s.queue[1:]
		return piece
	}
	t := s.transfer
	at := 0
	for i, m := range t.missing {
		if m.length() > t.missing[at].length() {
			at = i
		}
	}
	halves := t.missing[at].split(2)
	if len(halves) < 2 {
		return nil
	}
	t.missing[at][1] = halves[0][1]
	t.missing = slices.Insert(t.missing, at+1, &halves[1])
	return t.missing[at+1]
}
