package schedule

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A keptServer counts the tasks at once of a host that answers after a round trip.
type keptServer struct {
	mu            sync.Mutex
	running, most int
	failures      int
	reply         func(running int) (time.Duration, error)
}

func (k *keptServer) do(context.Context) error {
	k.mu.Lock()
	k.running++
	k.most = max(k.most, k.running)
	wait, err := k.reply(k.running)
	if err != nil {
		k.failures++
	}
	k.mu.Unlock()
	time.Sleep(wait)
	k.mu.Lock()
	k.running--
	k.mu.Unlock()
	return err
}

// runTasks runs n tasks of one host. Failed ones are repeated.
func runTasks(t *testing.T, opts *Options, k *keptServer, n int) (took time.Duration) {
	t.Helper()
	s := New(opts)
	begin := time.Now()
	given := 0
	err := s.Run(t.Context(), source(func(_ context.Context, room func(string) bool) (Task, error) {
		if given == n {
			return Task{}, io.EOF
		}
		if !room("h") {
			return Task{}, ErrNone
		}
		given++
		return Task{Host: "h", Do: func(ctx context.Context) error {
			err := k.do(ctx)
			for err != nil {
				s.Failed("h", err)
				time.Sleep(time.Second)
				err = k.do(ctx)
			}
			return nil
		}}, nil
	}))
	if err != nil {
		t.Error(err)
	}
	return time.Since(begin)
}

func TestParallelTasksGrow(t *testing.T) {
	t.Parallel()
	const trip = 50 * time.Millisecond
	soon := func(int) (time.Duration, error) { return trip, nil }
	for _, tt := range []struct {
		name     string
		opts     Options
		reply    func(running int) (time.Duration, error)
		from, to int           // tasks at once at most
		within   time.Duration // for 400 tasks; 0 means that it does not matter
	}{
		{"fast host", Options{Grow: 50, Host: Limits{Parallel: 4, Grow: 50}}, soon, 50, 50, 15 * trip},
		{"no growth", Options{Host: Limits{Parallel: 4}}, soon, 4, 4, 0},
		{"of all hosts only", Options{Grow: 50, Host: Limits{Parallel: 4}}, soon, 4, 4, 0},
		{"of the host only", Options{Host: Limits{Parallel: 4, Grow: 50}}, soon, 4, 4, 0},
		{"delay", Options{Grow: 50, Host: Limits{Parallel: 4, Grow: 50, Delay: time.Second}}, soon, 1, 1, 0},
		{"slow host", Options{Grow: 50, Host: Limits{Parallel: 4, Grow: 50}}, func(running int) (time.Duration, error) {
			return trip * time.Duration(max(1, running/2)), nil // twice as many take twice as long
		}, 4, 45, 0},
		{"busy host", Options{Grow: 50, Host: Limits{Parallel: 4, Grow: 50}}, func(running int) (time.Duration, error) {
			if running > 10 {
				return trip, &fetch.Error{Code: fetch.ErrBusy}
			}
			return trip, nil
		}, 10, 16 + 10*growth, 0}, // 10 of 16 may succeed before the others are known to be too many
		{"lost connections", Options{Grow: 50, Host: Limits{Parallel: 4, Grow: 50}}, func(running int) (time.Duration, error) {
			if running > 10 {
				return 0, &fetch.Error{Code: fetch.ErrNetwork}
			}
			return trip, nil
		}, 10, 20, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := &keptServer{reply: tt.reply}
				took := runTasks(t, &tt.opts, k, 400)
				if k.most < tt.from || k.most > tt.to {
					t.Errorf("%d tasks at once, want %d to %d", k.most, tt.from, tt.to)
				}
				if tt.within > 0 && took > tt.within {
					t.Errorf("400 tasks took %v, want %v", took, tt.within)
				}
				if k.failures > 100 {
					t.Errorf("%d failures", k.failures)
				}
			})
		})
	}
}
