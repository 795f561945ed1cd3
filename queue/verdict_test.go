package queue

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
)

func TestIsTransient(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		result job.Result
		want   bool
	}{
		"success":            {job.Result{Outcome: job.Saved, Retry: true}, false},
		"busy":               {job.Result{Outcome: job.Failed, Class: fetch.ErrBusy}, true},
		"Retry-After":        {job.Result{Outcome: job.Failed, Class: fetch.ErrServer, RetryAfter: time.Second}, true},
		"retryable":          {job.Result{Outcome: job.Failed, Class: fetch.ErrNetwork, Retry: true}, true},
		"connection refused": {job.Result{Outcome: job.Failed, Class: fetch.ErrNetwork, Err: fmt.Errorf("dial: %w", syscall.ECONNREFUSED)}, true},
		"no such host":       {job.Result{Outcome: job.Failed, Class: fetch.ErrNetwork, Err: errors.New("no such host")}, false},
		"no such document":   {job.Result{Outcome: job.Failed, Class: fetch.ErrNotFound}, false},
		"policy error":       {job.Result{Outcome: job.Failed, Class: fetch.ErrPolicy}, false},
	} {
		if got := isTransient(&tt.result); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	noRandom := func(time.Duration) time.Duration { return 0 }
	for i, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		if got := pause(&job.Result{Class: fetch.ErrBusy}, i+1, retry.Policy{}, noRandom); got != want {
			t.Errorf("after %d failures: %v, want %v", i+1, got, want)
		}
	}
	if got := pause(&job.Result{Class: fetch.ErrBusy}, 1000, retry.Policy{}, noRandom); got != maxBackoff/2 {
		t.Errorf("after 1000 failures: %v", got)
	}
	if got := pause(&job.Result{Class: fetch.ErrBusy, RetryAfter: time.Minute}, 1, retry.Policy{}, noRandom); got != time.Minute {
		t.Errorf("Retry-After: %v", got)
	}
	if got := pause(&job.Result{Class: fetch.ErrBusy, RetryAfter: 2 * time.Hour}, 1, retry.Policy{}, noRandom); got != time.Hour {
		t.Errorf("Retry-After beyond the limit: %v", got)
	}
	if got := pause(&job.Result{Class: fetch.ErrNotFound}, 2, retry.Policy{}, noRandom); got != defaultBackoff {
		t.Errorf("class without its own pause: %v", got)
	}
	if got := pause(&job.Result{Class: fetch.ErrBusy}, 2, retry.Policy{Wait: time.Second}, noRandom); got != time.Second {
		t.Errorf("Policy.Wait: %v", got)
	}
}
