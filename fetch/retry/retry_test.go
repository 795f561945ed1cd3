package retry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/retry"
)

func none(time.Duration) time.Duration       { return 0 }
func most(below time.Duration) time.Duration { return below - 1 }

// TestPauses tests the shortest and the longest pause after 1, 2, 3, … failures.
func TestPauses(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := []struct {
		name   string
		policy retry.Policy
		after  time.Duration
		want   string
	}{
		{"full jitter", retry.Policy{Wait: s, MaxWait: 5 * s}, 0, "0s-1s 0s-2s 0s-4s 0s-5s 0s-5s"},
		{"half jitter", retry.Policy{Wait: s, MaxWait: 5 * s, Jitter: retry.HalfJitter}, 0, "500ms-1s 1s-2s 2s-4s 2.5s-5s 2.5s-5s"},
		{"no jitter", retry.Policy{Wait: s, MaxWait: 5 * s, Jitter: retry.NoJitter}, 0, "1s-1s 2s-2s 4s-4s 5s-5s 5s-5s"},
		{"as the server asks", retry.Policy{Wait: s, MaxWait: 5 * s}, 3 * s, "3s-3s 3s-3s 3s-4s 3s-5s 3s-5s"},
		{"no more than is allowed", retry.Policy{Wait: s, MaxWait: 5 * s, MaxRetryAfter: 2 * s}, 3 * s, "2s-2s 2s-2s 2s-4s 2s-5s 2s-5s"},
		{"no limit", retry.Policy{Wait: s, MaxWait: 5 * s, MaxRetryAfter: -1}, 9 * s, "9s-9s 9s-9s 9s-9s 9s-9s 9s-9s"},
		{"a first pause above the limit", retry.Policy{Wait: 9 * s, MaxWait: 5 * s, Jitter: retry.NoJitter}, 0, "5s-5s 5s-5s 5s-5s 5s-5s 5s-5s"},
		{"none", retry.Policy{}, 0, "0s-0s 0s-0s 0s-0s 0s-0s 0s-0s"},
	}
	for _, tt := range tests {
		got := ""
		for n := 1; n <= 5; n++ {
			got += fmt.Sprintf(" %v-%v", tt.policy.Pause(n, tt.after, none), tt.policy.Pause(n, tt.after, most).Round(time.Millisecond))
		}
		if got[1:] != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got[1:], tt.want)
		}
		if long := tt.policy.Pause(1000, 0, most); long < 0 || long > tt.policy.MaxWait {
			t.Errorf("%s: %v after 1000 failures", tt.name, long)
		}
	}
}

var errPasses = errors.New("it passes")

func transient(after time.Duration) func(error) (time.Duration, bool) {
	return func(err error) (time.Duration, bool) { return after, err == errPasses }
}

func TestNext(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := []struct {
		name   string
		policy retry.Policy
		failed int
		err    error
		pause  time.Duration
		again  bool
	}{
		{"a transient error", retry.Policy{Tries: 3, Transient: transient(s)}, 2, errPasses, s, true},
		{"the last try", retry.Policy{Tries: 3, Transient: transient(s)}, 3, errPasses, 0, false},
		{"no limit of tries", retry.Policy{Tries: -1, Transient: transient(s)}, 1000, errPasses, s, true},
		{"another error", retry.Policy{Tries: 3, Transient: transient(s)}, 1, errors.New("final"), 0, false},
		{"a pause that is too long", retry.Policy{Tries: 3, MaxRetryAfter: s, Transient: transient(2 * s)}, 1, errPasses, 2 * s, false},
		{"a long pause without a limit", retry.Policy{Tries: 3, MaxRetryAfter: -1, Transient: transient(2 * s)}, 1, errPasses, 2 * s, true},
	}
	for _, tt := range tests {
		if pause, again := tt.policy.Next(tt.failed, tt.err); pause != tt.pause || again != tt.again {
			t.Errorf("%s: %v %v, want %v %v", tt.name, pause, again, tt.pause, tt.again)
		}
	}
}

func TestDefaultsFillZeroFields(t *testing.T) {
	t.Parallel()
	defaults := retry.Policy{Tries: 5, Wait: time.Second, MaxWait: time.Minute, Jitter: retry.HalfJitter, MaxRetryAfter: time.Hour}
	for _, tt := range []struct{ given, want retry.Policy }{
		{retry.Policy{}, defaults},
		{retry.Policy{Wait: -1}, defaults},
		{retry.Policy{Tries: -1, MaxRetryAfter: -1, Jitter: retry.NoJitter},
			retry.Policy{Tries: -1, Wait: time.Second, MaxWait: time.Minute, Jitter: retry.NoJitter, MaxRetryAfter: -1}},
		{retry.Policy{Tries: 2, Wait: 3, MaxWait: 4}, retry.Policy{Tries: 2, Wait: 3, MaxWait: 4, Jitter: retry.HalfJitter, MaxRetryAfter: time.Hour}},
	} {
		if got := fmt.Sprintf("%+v", tt.given.Or(defaults)); got != fmt.Sprintf("%+v", tt.want) {
			t.Errorf("%+v: %s", tt.given, got)
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		begun := time.Now()
		if err := retry.Sleep(ctx, time.Millisecond); err != nil || time.Since(begun) != time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if err := retry.Sleep(ctx, time.Hour); err != cause || time.Since(begun) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}
