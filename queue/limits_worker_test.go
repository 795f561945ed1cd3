package queue_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// countingDriver is a driver that takes a second for each response and counts the concurrent ones.
type countingDriver struct {
	mu      sync.Mutex
	running map[string]int
	most    map[string]int // at once since the last reset
	ended   map[string]time.Time
	pause   map[string]time.Duration // shortest time from an end to the next start since the last reset
}

func (d *countingDriver) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.most, d.ended, d.pause = map[string]int{}, map[string]time.Time{}, map[string]time.Duration{}
}

func (d *countingDriver) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	host := req.URL.Host()
	d.mu.Lock()
	d.running[host]++
	d.most[host] = max(d.most[host], d.running[host])
	if at, ok := d.ended[host]; ok {
		pause := time.Since(at)
		if known, ok := d.pause[host]; !ok || pause < known {
			d.pause[host] = pause
		}
	}
	d.mu.Unlock()
	time.Sleep(time.Second)
	return &fetch.Response{Meta: fetch.Meta{Size: 1}, Body: &closer{strings.NewReader("x"), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.running[host]--
		d.ended[host] = time.Now()
	}}}, nil
}

// Three workers share the limits of hosts and use changes of them: higher ones than PerHost, lower
// ones, and their own after the limits were removed. Other hosts have those of the workers.
func TestWorkersUseHostLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := queuetest.NewModel(queuetest.Options{Limits: queue.Limits{AckWait: time.Hour}})
		admin := m.Connect("admin")
		d := &countingDriver{running: map[string]int{}}
		d.reset()
		client := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "x-sim", Ops: []fetch.Op{fetch.OpGet}, Driver: d})
		})
		defer client.Close()
		for i := range 2000 {
			for _, host := range []string{"a.slow", "other"} {
				j := &job.Job{URL: uri.MustParse(fmt.Sprintf("x-sim://%s/%d", host, i))}
				if _, _, err := queue.Submit(t.Context(), admin, queue.Normal, j); err != nil {
					t.Fatal(err)
				}
			}
		}
		set := func(text string) {
			t.Helper()
			if err := admin.SetHostLimits(t.Context(), []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		set("slow 7 -\n") // before workers start
		ctx, stop := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			conn := m.Connect(name)
			workers.Go(func() {
				w := &queue.Worker{Engine: conn, Store: &worker{simulation: &simulation{stored: map[string]int{}}}, Parallel: 6, Grace: -1, Name: name,
					Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}}
				if err := w.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		check := func(phase string, slow int, pause time.Duration) {
			t.Helper()
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.most["a.slow"] != slow || d.most["other"] != 2 || pause > 0 && (d.pause["a.slow"] < pause || d.pause["a.slow"] > pause+3*time.Second) {
				t.Errorf("%s: at most %v transfers at once, shortest pause %v; want %d from a.slow, pause %v", phase, d.most, d.pause["a.slow"], slow, pause)
			}
		}
		time.Sleep(time.Minute)
		check("higher limit", 7, 0)
		for _, phase := range []struct {
			name, text string
			slow       int
			pause      time.Duration
		}{
			{"lower limit and pause", "slow 1 5s\n", 1, 5 * time.Second},
			{"invalid limits change nothing", "slow 9 forever\n", 1, 5 * time.Second},
			{"most specific line", "slow 1 5s\na.slow 4 0s\n", 4, 0},
			{"no limits", "", 2, 0},
			{"of another host", "fast 5 -\n", 2, 0},
		} {
			set(phase.text)
			time.Sleep(4 * time.Second) // until workers notice and former transfers end
			d.reset()
			time.Sleep(2 * time.Minute)
			check(phase.name, phase.slow, phase.pause)
		}
		stop()
		workers.Wait()
	})
}

// limitsEngine is an engine that fails to return limits of hosts.
type limitsEngine struct {
	*queuetest.Conn
	err func() error
}

func (e *limitsEngine) HostLimits(ctx context.Context) ([]byte, error) {
	if err := e.err(); err != nil {
		return nil, err
	}
	return e.Conn.HostLimits(ctx)
}

// A worker that may not read the limits of hosts uses its own. A worker starts no jobs until it knows
// them, and keeps the last known ones while the engine does not respond.
func TestUnreadableHostLimits(t *testing.T) {
	t.Parallel()
	refused, lost := &fetch.Error{Code: fetch.ErrRefused}, &fetch.Error{Code: fetch.ErrNetwork}
	for name, tt := range map[string]struct {
		err  func(elapsed time.Duration) error
		want []int // transfers at once in each half minute
	}{
		"refused":        {func(time.Duration) error { return refused }, []int{2, 2}},
		"refused later":  {func(elapsed time.Duration) error { return after(elapsed, 30*time.Second, refused) }, []int{1, 1}},
		"lost later":     {func(elapsed time.Duration) error { return after(elapsed, 30*time.Second, lost) }, []int{1, 1}},
		"lost at first":  {func(elapsed time.Duration) error { return after(30*time.Second, elapsed, lost) }, []int{0, 1}},
		"lost from then": {func(time.Duration) error { return lost }, []int{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, start := queuetest.NewModel(queuetest.Options{}).Connect("a"), time.Now()
				for i := range 200 {
					if _, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: uri.MustParse(fmt.Sprint("http://h/", i))}); err != nil {
						t.Fatal(err)
					}
				}
				if err := e.SetHostLimits(t.Context(), []byte("h 1 -\n")); err != nil {
					t.Fatal(err)
				}
				d := &countingDriver{running: map[string]int{}}
				d.reset()
				broken := &limitsEngine{e, func() error { return tt.err(time.Since(start)) }}
				withWorker(t, broken, d, queue.Worker{Grace: -1}, func(context.Context) {
					for half, want := range tt.want {
						time.Sleep(29 * time.Second)
						d.mu.Lock()
						got := d.most["h"]
						d.mu.Unlock()
						if got != want {
							t.Errorf("%d transfers at once in half minute %d, want %d", got, half+1, want)
						}
						d.reset()
						time.Sleep(5 * time.Second)
					}
				})
			})
		})
	}
}

// after returns err if elapsed is at least begin.
func after(elapsed, begin time.Duration, err error) error {
	if elapsed < begin {
		return nil
	}
	return err
}
