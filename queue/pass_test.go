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
		"many":                  {Place{Moves: 1 << 40, Behind: 30_000}, 10 * time.Minute},
		"long queue":            {Place{Moves: 5, Behind: 180_000}, 30 * time.Minute},
		"start of a long queue": {Place{Moves: 1, Behind: 180_000}, time.Minute},
	} {
		if got := moveInterval(tt.place); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
