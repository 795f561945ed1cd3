package download

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// settle is how long new connections get before they count, and measure how long they are then
	// looked at.
	settle  = 250 * time.Millisecond
	measure = 250 * time.Millisecond
	// maxGrown bounds the connections that are made without anybody having asked for so many.
	maxGrown = 16
	// worthwhile is how much faster all must get together for more connections to pay.
	worthwhile = 1.15
)

// grow doubles the number of workers as long as all of them together become faster by that, and
// there is enough left for the others to have something to do.
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
		if rate < best*worthwhile || !s.double(ctx, group, rate) {
			return nil
		}
		best = rate
	}
}

// pause returns false if the transfer ends meanwhile.
func (s *scheduler) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.over:
	case <-ctx.Done():
	}
	return false
}

func (s *scheduler) progress() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// double starts as many workers as there are, unless the rest comes soon at the rate that there is,
// in bytes a second. It returns false if there is nothing to gain.
func (s *scheduler) double(ctx context.Context, group *errgroup.Group, rate float64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.transfer.want - s.transfer.done
	if float64(left) < rate*(settle+measure).Seconds() {
		return false
	}
	grown := false
	for range min(s.workers, maxGrown-s.workers) {
		piece := s.spare()
		if piece == nil {
			break
		}
		grown, s.secondChance = true, true
		s.workers++
		group.Go(func() error { return s.work(ctx, piece, nil) })
	}
	return grown
}

// spare returns a segment for one more worker: one that nobody works on, or the second half of the
// largest. It returns nil if they are all small.
func (s *scheduler) spare() *span {
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
