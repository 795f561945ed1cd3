package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// A fullStore refuses all bodies while it is full.
type fullStore struct {
	queue.Store
	full  atomic.Bool
	tries atomic.Int32
}

var errFull = errors.New("no space left on device")

func (s *fullStore) Begin() (queue.Spool, error) {
	spool, err := s.Store.Begin()
	return &fullSpool{spool, s}, err
}

type fullSpool struct {
	queue.Spool
	store *fullStore
}

func (s *fullSpool) Write(p []byte) (int, error) {
	s.store.tries.Add(1)
	if s.store.full.Load() {
		return 0, errFull
	}
	return s.Spool.Write(p)
}

// With a full store, a worker tries a few jobs now and then, and says why it is not ready. No job is lost,
// and none counts as failed.
func TestFullStorePausesTheWorker(t *testing.T) {
	t.Parallel()
	dir, err := queue.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	synctest.Test(t, func(t *testing.T) {
		m := queuetest.NewModel(queuetest.Options{})
		admin, a := m.Connect("admin"), m.Connect("a")
		submitMany(t, admin, 100)
		store := &fullStore{Store: dir}
		store.full.Store(true)
		metrics := &queue.Metrics{}
		withWorker(t, a, &slowDriver{}, queue.Worker{Name: "a", Store: store, Parallel: 4, Metrics: metrics}, func(context.Context) {
			time.Sleep(10 * time.Minute)
			if n := store.tries.Load(); n == 0 || n > 10*2*8 {
				t.Errorf("%d attempts to store a body in 10 minutes", n)
			}
			if err := metrics.Ready(); !errors.Is(err, errFull) {
				t.Errorf("Ready: %v", err)
			}
			if list, err := queue.ListWorkers(t.Context(), admin); err != nil || len(list) != 1 || !strings.Contains(list[0].Trouble, errFull.Error()) {
				t.Errorf("%+v, %v", list, err)
			}
			store.full.Store(false)
			for s, err := admin.Status(t.Context()); s.Results < 100; s, err = admin.Status(t.Context()) {
				if err != nil || s.Dead > 0 {
					t.Fatalf("%+v, %v", s, err)
				}
				time.Sleep(time.Minute)
			}
			if err := metrics.Ready(); err != nil {
				t.Errorf("Ready with space: %v", err)
			}
		})
	})
}

func submitMany(t *testing.T, e queue.Engine, n int) {
	t.Helper()
	for i := range n {
		j := &job.Job{URL: uri.MustParse(fmt.Sprintf("http://h%d/", i))}
		if _, _, err := queue.Submit(t.Context(), e, queue.Normal, j); err != nil {
			t.Fatal(err)
		}
	}
}

// While Check returns an error, no jobs start.
func TestCheckKeepsJobsFromStarting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := queuetest.NewModel(queuetest.Options{})
		admin, a := m.Connect("admin"), m.Connect("a")
		submitMany(t, admin, 5)
		var almostFull atomic.Bool
		almostFull.Store(true)
		metrics := &queue.Metrics{}
		w := queue.Worker{Name: "a", Metrics: metrics, Check: func(context.Context) error {
			if almostFull.Load() {
				return errFull
			}
			return nil
		}}
		withWorker(t, a, &slowDriver{}, w, func(context.Context) {
			time.Sleep(time.Minute)
			if s, err := admin.Status(t.Context()); err != nil || s.Results > 0 || !errors.Is(metrics.Ready(), errFull) {
				t.Errorf("%+v, %v, ready %v", s, err, metrics.Ready())
			}
			almostFull.Store(false)
			time.Sleep(5 * time.Minute)
			if s, err := admin.Status(t.Context()); err != nil || s.Results != 5 || metrics.Ready() != nil {
				t.Errorf("%+v, %v, ready %v", s, err, metrics.Ready())
			}
		})
	})
}
