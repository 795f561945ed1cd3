package schedule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A source supplies the tasks of Run.
type source = func(context.Context, func(string) bool) (Task, error)

// inTurn returns a source of n tasks per host. The hosts take turns.
func inTurn(n int, do func(ctx context.Context, host string) error, hosts ...string) source {
	i := 0
	return source(func(context.Context, func(string) bool) (Task, error) {
		if i == n*len(hosts) {
			return Task{}, io.EOF
		}
		host := hosts[i%len(hosts)]
		i++
		return Task{Host: host, Do: func(ctx context.Context) error { return do(ctx, host) }}, nil
	})
}

// sleeping returns a task function that takes d, and the highest number of concurrent calls.
func sleeping(d time.Duration) (do func(context.Context, string) error, maxRunning *atomic.Int64) {
	maxRunning = new(atomic.Int64)
	var now atomic.Int64
	return func(context.Context, string) error {
		n := now.Add(1)
		for m := maxRunning.Load(); n > m && !maxRunning.CompareAndSwap(m, n); m = maxRunning.Load() {
		}
		time.Sleep(d)
		now.Add(-1)
		return nil
	}, maxRunning
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		opts       *Options
		setup      func(*Scheduler)
		hosts      []string
		maxRunning int64
		duration   time.Duration // for 12 one-second tasks per host
	}{
		{"default limits", nil, nil, []string{"a", "b", "c"}, 4, 9 * time.Second},
		{"one host, default limits", nil, nil, []string{"a"}, 2, 6 * time.Second},
		{"empty host", nil, nil, []string{""}, 4, 3 * time.Second},
		{"no limit per host", &Options{Parallel: 6, Host: Limits{Parallel: -1}}, nil, []string{"a"}, 6, 2 * time.Second},
		{"a delay", &Options{Host: Limits{Delay: 2 * time.Second}}, nil, []string{"a", "b"}, 2, 34 * time.Second},
		{"limit of one host", &Options{Limits: func(host string) Limits {
			if host == "a" {
				return Limits{Parallel: 1}
			}
			return Limits{}
		}}, nil, []string{"a", "b"}, 3, 12 * time.Second},
		{"SetLimits", nil, func(s *Scheduler) { s.SetLimits("a", Limits{Parallel: 3}) }, []string{"a"}, 3, 4 * time.Second},
		{"one address", nil, func(s *Scheduler) {
			for _, host := range []string{"a", "b", "c"} {
				s.SetAddress(host, "192.0.2.1")
			}
		}, []string{"a", "b", "c"}, 2, 18 * time.Second},
		{"SetLimits of one host at an address", nil, func(s *Scheduler) {
			s.SetAddress("a", "192.0.2.1")
			s.SetLimits("a", Limits{Parallel: -1})
		}, []string{"a"}, 4, 3 * time.Second},
		{"changed address", nil, func(s *Scheduler) {
			s.SetAddress("a", "192.0.2.1")
			s.SetAddress("b", "192.0.2.1")
			s.SetAddress("b", "192.0.2.2")
		}, []string{"a", "b"}, 4, 6 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := New(c.opts)
				if c.setup != nil {
					c.setup(s)
				}
				do, maxRunning := sleeping(time.Second)
				start := time.Now()
				if err := s.Run(t.Context(), inTurn(12, do, c.hosts...)); err != nil {
					t.Fatal(err)
				}
				if duration := time.Since(start); duration != c.duration || maxRunning.Load() != c.maxRunning {
					t.Errorf("took %v with %d concurrent tasks, want %v with %d", duration, maxRunning.Load(), c.duration, c.maxRunning)
				}
			})
		})
	}
}

// A busy host delays its own tasks, but not those of other hosts.
func TestBusyHostIsPaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(nil)
		start := time.Now()
		var retriedAfter time.Duration
		var other atomic.Int64
		var tasks int
		do := func(_ context.Context, host string) error {
			if host == "other" {
				time.Sleep(time.Second)
				other.Store(int64(time.Since(start)))
				return nil
			}
			if tasks++; tasks == 1 {
				return &fetch.Error{Code: fetch.ErrBusy, RetryAfter: 30 * time.Second}
			}
			if retriedAfter == 0 {
				retriedAfter = time.Since(start)
			}
			return nil
		}
		s.SetLimits("busy", Limits{Parallel: 1})
		if err := s.Run(t.Context(), inTurn(8, do, "busy", "other")); err != nil {
			t.Fatal(err)
		}
		if retriedAfter != 30*time.Second {
			t.Errorf("next task of the busy host started after %v", retriedAfter)
		}
		if other := time.Duration(other.Load()); other != 4*time.Second {
			t.Errorf("tasks of the other host ended after %v", other)
		}
	})
}

// After a refusal a host gets half as many concurrent tasks, and then gradually more.
func TestBusyHostRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(&Options{Parallel: 8, Host: Limits{Parallel: 8}})
		for range 8 {
			s.Failed("a", &fetch.Error{Code: fetch.ErrServer}) // not an error about load
			s.Failed("a", errors.New("other"))
		}
		var maxRunning []int64
		for range 8 { // one refusal, reported by all active tasks
			s.Failed("a", &fetch.Error{Code: fetch.ErrBusy})
		}
		for range 5 {
			do, at := sleeping(time.Second)
			if err := s.Run(t.Context(), inTurn(8, do, "a")); err != nil {
				t.Fatal(err)
			}
			maxRunning = append(maxRunning, at.Load())
		}
		// The order of starts and ends at the same instant is random.
		if maxRunning[0] < 4 || maxRunning[0] > 5 || maxRunning[1] > 6 || !slices.IsSorted(maxRunning) || maxRunning[4] != 8 {
			t.Errorf("concurrent tasks per run: %v", maxRunning)
		}
	})
}

func TestPausesGrowToMaxPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(&Options{MaxPause: 20 * time.Second})
		var last time.Time
		var pauses []time.Duration
		do := func(context.Context, string) error {
			if !last.IsZero() {
				pauses = append(pauses, time.Since(last))
			}
			last = time.Now()
			return &fetch.Error{Code: fetch.ErrBusy}
		}
		s.SetLimits("a", Limits{Parallel: 1})
		if err := s.Run(t.Context(), inTurn(9, do, "a")); err != nil {
			t.Fatal(err)
		}
		limit := time.Second
		for i, p := range pauses {
			if p < limit/2 || p > limit {
				t.Errorf("pause %d is %v, want up to %v", i, p, limit)
			}
			limit = min(2*limit, 20*time.Second)
		}
	})
}

// An endless source is read only while there is room.
func TestSourceIsReadOnlyWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		supplied, start := 0, atomic.Int64{}
		src := source(func(context.Context, func(string) bool) (Task, error) {
			if supplied++; supplied-int(start.Load()) > 10+4+1 { // queued tasks, running ones, and this one
				t.Errorf("%d tasks supplied, %d started", supplied, start.Load())
			}
			host := fmt.Sprint(supplied)
			return Task{Host: host, Do: func(context.Context) error {
				if start.Add(1) == 25_000 {
					cancel(errEnough)
				}
				time.Sleep(time.Millisecond)
				return nil
			}}, nil
		})
		s := New(&Options{Waiting: 10})
		if err := s.Run(ctx, src); fetch.CodeOf(err) != fetch.ErrInterrupted || !errors.Is(err, errEnough) {
			t.Errorf("Run: %v", err)
		}
		if n := len(s.hosts); n > 2*maxIdle+100 {
			t.Errorf("%d hosts in memory", n)
		}
	})
}

var errEnough = &fetch.Error{Code: fetch.ErrInterrupted, Err: errors.New("enough")}

// A task that supplies other tasks, such as an open listing, does not block them with its own slot.
func TestReleasedTaskCanSupplyTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(&Options{Parallel: 1, Waiting: 3})
		found := make(chan Task)
		ended := make(chan struct{})
		first := Task{Host: "a", Do: func(ctx context.Context) error {
			s.Release(ctx)
			defer close(ended)
			for range 1000 {
				found <- Task{Host: "a", Do: func(context.Context) error { return nil }}
			}
			return nil
		}}
		supplied := 0
		src := source(func(ctx context.Context, _ func(string) bool) (Task, error) {
			if supplied == 0 {
				supplied++
				return first, nil
			}
			select {
			case t := <-found:
				supplied++
				return t, nil
			case <-ended:
				return Task{}, io.EOF
			case <-ctx.Done():
				return Task{}, ctx.Err()
			}
		})
		if err := s.Run(t.Context(), src); err != nil || supplied != 1001 {
			t.Errorf("%d tasks, %v", supplied, err)
		}
	})
}

func TestSourceErrorComesAfterItsTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		do, _ := sleeping(time.Second)
		all := inTurn(5, do, "a")
		sourceErr := errors.New("a line that is too long")
		src := source(func(ctx context.Context, room func(string) bool) (Task, error) {
			task, err := all(ctx, room)
			if err == io.EOF {
				err = sourceErr
			}
			return task, err
		})
		start := time.Now()
		if err := New(nil).Run(t.Context(), src); err != sourceErr {
			t.Errorf("Run: %v", err)
		}
		if duration := time.Since(start); duration != 3*time.Second {
			t.Errorf("took %v", duration)
		}
	})
}

// Tasks of one host that can be pipelined are run in order by one worker, which knows the tasks
// that follow. Another host does not have to wait for all of them.
func TestLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var order []string
		maxRunning := 0
		supplied := 0
		src := source(func(context.Context, func(string) bool) (Task, error) {
			if supplied == 300 {
				return Task{}, io.EOF
			}
			supplied++
			name, host := fmt.Sprint(supplied), "a"
			task := Task{Request: &fetch.Request{View: name}}
			if supplied == 250 {
				host, task.Request = "b", nil
			}
			task.Host, task.Do = host, func(ctx context.Context) error {
				if next, ok := ctx.Value(simulatedLine{}).(func() []*fetch.Request); ok && host == "a" {
					all := next()
					maxRunning = max(maxRunning, len(all))
					for i, req := range all {
						if req.View == name || i > 0 && req.View == all[i-1].View {
							t.Errorf("%s is listed among the tasks after %s", name, req.View)
						}
					}
				}
				time.Sleep(time.Millisecond)
				order = append(order, name)
				return nil
			}
			return task, nil
		})
		ends := 0
		s := New(&Options{Parallel: 1, Pipeline: func(ctx context.Context, next func() []*fetch.Request) (context.Context, func()) {
			return context.WithValue(ctx, simulatedLine{}, next), func() { ends++ }
		}})
		if err := s.Run(t.Context(), src); err != nil {
			t.Fatal(err)
		}
		if len(order) != 300 || maxRunning < 32 || ends == 0 || ends > 5 {
			t.Errorf("%d tasks, up to %d known ahead, %d lines", len(order), maxRunning, ends)
		}
		at := slices.Index(order, "250")
		if at < 0 || at > 200 {
			t.Errorf("the other host's task ran after %d tasks", at)
		}
		order = slices.Delete(order, at, at+1)
		for i := range order[1:] {
			if a, _ := strconv.Atoi(order[i]); order[i+1] != strconv.Itoa(a+1) && order[i+1] != strconv.Itoa(a+2) {
				t.Errorf("%s comes after %s", order[i+1], order[i])
			}
		}
	})
}
