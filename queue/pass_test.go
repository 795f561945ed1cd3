package queue

import (
	"testing"
	"time"
)

func TestMoveInterval(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		place Place
		want  time.Duration
	}{
		"first":                 {Place{Moves: 1, Behind: 30_000}, time.Minute},
		"second":                {Place{Moves: 2, Behind: 30_000}, 4 * time.Minute},
		"third":                 {Place{Moves: 3, Behind: 30_000}, 10 * time.Minute},
		"many":                  {Place{Moves: 1 << 30, Behind: 30_000}, 10 * time.Minute},
		"long queue":            {Place{Moves: 5, Behind: 180_000}, 30 * time.Minute},
		"start of a long queue": {Place{Moves: 1, Behind: 180_000}, time.Minute},
	} {
		if got := moveInterval(tt.place); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// A worker whose clock differs from that of the engine moves no job without end, and none too late.
func TestPassWithAnotherClock(t *testing.T) {
	t.Parallel()
	const behind = 50
	for _, age := range []time.Duration{-time.Hour, 24 * time.Hour} {
		l, now, moves := newPrefetch(), time.Now(), 0
		l.n = 1
		for range 1200 {
			now = now.Add(time.Second / 10)
			l.slow["h"] = now
			one := &task{host: "h", delivery: firstDelivery{}, place: Place{Moves: 2, Behind: behind, Since: now.Add(-age)}}
			if l.decide(one, now, time.Time{}) == moveJob {
				moves++
			}
		}
		if moves > 2*(2*behind+2) {
			t.Errorf("jobs that seem %v old: %d moves in two minutes, want few", age, moves)
		}
		if next := l.passes[Normal].next; next.After(now.Add(maxMoveInterval)) {
			t.Errorf("jobs that seem %v old: no moves for %v", age, next.Sub(now))
		}
	}
}

// A firstDelivery is a job that was not delivered before.
type firstDelivery struct{ Delivery }

func (firstDelivery) Again() bool        { return false }
func (firstDelivery) Priority() Priority { return Normal }
