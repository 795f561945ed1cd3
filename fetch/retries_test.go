package fetch

import (
	"testing"
	"time"
)

// TestPausesBetweenReads tests the pauses of a Resource after 1, 2, 3, … consecutive failures. A
// negative pause means that the failure is final.
func TestPausesBetweenReads(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, tt := range []struct {
		name string
		err  error
		want [5]time.Duration
	}{
		{"transient", &Error{Code: ErrNetwork, Retry: true}, [5]time.Duration{0, 250 * ms, 500 * ms, 1000 * ms, -1}},
		{"as the server asks", &Error{Code: ErrBusy, Retry: true, RetryAfter: 30 * time.Second},
			[5]time.Duration{30 * time.Second, 30 * time.Second, 30 * time.Second, 30 * time.Second, -1}},
		{"too long a pause", &Error{Code: ErrBusy, Retry: true, RetryAfter: 31 * time.Second}, [5]time.Duration{-1, -1, -1, -1, -1}},
		{"final", &Error{Code: ErrNotFound}, [5]time.Duration{-1, -1, -1, -1, -1}},
		{"of another kind", ErrNetwork, [5]time.Duration{-1, -1, -1, -1, -1}},
	} {
		for failed, want := range tt.want {
			pause, again := resourceRetry.Next(failed, tt.err)
			if !again {
				pause = -1
			}
			if pause != want {
				t.Errorf("%s: after %d failures %v, want %v", tt.name, failed+1, pause, want)
			}
		}
	}
}
