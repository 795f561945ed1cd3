package crawl

import (
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
)

// TestRobotsRetryPauses lists the pauses after 1, 2 and 3 failures. A negative pause means that
// there is no retry.
func TestRobotsRetryPauses(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, tt := range []struct {
		after time.Duration
		retry bool
		want  [3]time.Duration
	}{
		{0, true, [3]time.Duration{s, 2 * s, -1}},
		{90 * time.Minute, true, [3]time.Duration{time.Minute, time.Minute, -1}},
		{1500 * time.Millisecond, true, [3]time.Duration{1500 * time.Millisecond, 2 * s, -1}},
		{s, false, [3]time.Duration{-1, -1, -1}},
	} {
		for i, want := range tt.want {
			pause, again := robotsRetry.Next(i+1, &fetch.Error{Code: fetch.ErrBusy, Retry: tt.retry, RetryAfter: tt.after})
			if !again {
				pause = -1
			}
			if pause != want {
				t.Errorf("Retry-After %v: pause after %d failures is %v, want %v", tt.after, i+1, pause, want)
			}
		}
	}
}
