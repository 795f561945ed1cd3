package schedule

import (
	"testing"
	"time"
)

// TestGatePauses checks the shortest and the longest pause after each of four refusals.
func TestGatePauses(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, tt := range []struct {
		requested, maxPause time.Duration
		shortest            [4]time.Duration
		longest             [4]time.Duration
	}{
		{0, time.Minute, [4]time.Duration{s / 2, s, 2 * s, 4 * s}, [4]time.Duration{s, 2 * s, 4 * s, 8 * s}},
		{3 * s, time.Minute, [4]time.Duration{3 * s, 3 * s, 3 * s, 4 * s}, [4]time.Duration{3 * s, 3 * s, 4 * s, 8 * s}},
		{time.Hour, 5 * s, [4]time.Duration{5 * s, 5 * s, 5 * s, 5 * s}, [4]time.Duration{5 * s, 5 * s, 5 * s, 5 * s}},
		{0, 3 * s, [4]time.Duration{s / 2, s, 3 * s / 2, 3 * s / 2}, [4]time.Duration{s, 2 * s, 3 * s, 3 * s}},
	} {
		low, high := &gate{}, &gate{}
		now := time.Now()
		for i := range tt.shortest {
			low.pause(now, tt.requested, tt.maxPause, func(time.Duration) time.Duration { return 0 })
			high.pause(now, tt.requested, tt.maxPause, func(below time.Duration) time.Duration { return below - 1 })
			if a, b := low.until.Sub(now), high.until.Sub(now); a != tt.shortest[i] || b != tt.longest[i] {
				t.Errorf("Retry-After %v, MaxPause %v, refusal %d: pause %v to %v, want %v to %v", tt.requested, tt.maxPause, i+1, a, b, tt.shortest[i], tt.longest[i])
			}
			now = high.until
		}
	}
}
