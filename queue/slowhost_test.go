package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
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

// A hostDriver takes the given time for responses of a host.
type hostDriver map[string]time.Duration

func (d hostDriver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	return delayDriver(d[req.URL.Host()]).Open(ctx, req)
}

// A slowQueue is a model with workers. The host "slow" allows a transfer a second.
type slowQueue struct {
	*queuetest.Conn
	metrics *queue.Metrics
	stop    func() // ends the workers

	mu     sync.Mutex // guards the fields below until stop has returned
	others int        // ended jobs of other hosts than "slow"
	slow   []int      // numbers of the ended jobs of "slow"
	moves  int
	ended  chan struct{}
}

func newSlowQueue(t *testing.T, workers, maxTaken int) *slowQueue {
	q := &slowQueue{metrics: &queue.Metrics{}, ended: make(chan struct{}, 1)}
	model := queuetest.NewModel(queuetest.Options{MaxTaken: maxTaken, Fault: func(_, op, _ string) queuetest.Fault {
		if op == "move" {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.moves++
		}
		return queuetest.Fault{}
	}})
	q.Conn = model.Connect("admin")
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	q.stop = func() {
		stop()
		group.Wait()
	}
	for i := range workers {
		group.Go(func() {
			driver := hostDriver{"slow": time.Second, "quick": 30 * time.Millisecond}
			client := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
				reg.Register(fetch.Scheme{Name: "x-sim", Ops: []fetch.Op{fetch.OpGet}, Driver: driver})
			})
			defer client.Close()
			store := &worker{simulation: &simulation{stored: map[string]int{}}}
			(&queue.Worker{Engine: model.Connect(fmt.Sprint("w", i)), Store: store, Parallel: 4, PerHost: 1,
				Metrics: q.metrics, Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}}).Run(ctx)
		})
	}
	group.Go(func() {
		for r := range q.Results(ctx, 0, true) {
			var ev queue.Event
			if err := json.Unmarshal(r.Data, &ev); err != nil {
				t.Error(err)
			}
			q.mu.Lock()
			if n := 0; strings.HasPrefix(ev.URL, "x-sim://slow/") {
				fmt.Sscanf(ev.URL, "x-sim://slow/%d", &n)
				q.slow = append(q.slow, n)
			} else {
				q.others++
			}
			q.mu.Unlock()
			select {
			case q.ended <- struct{}{}:
			default:
			}
		}
	})
	return q
}

func (q *slowQueue) submit(t *testing.T, p queue.Priority, url string) {
	t.Helper()
	if _, _, err := queue.Submit(t.Context(), q, p, &job.Job{URL: uri.MustParse(url)}); err != nil {
		t.Fatal(err)
	}
}

// wait waits until a condition on the ended jobs holds, and returns how long that took.
func (q *slowQueue) wait(cond func() bool) time.Duration {
	start := time.Now()
	for {
		q.mu.Lock()
		done := cond()
		q.mu.Unlock()
		if done {
			return time.Since(start)
		}
		<-q.ended
	}
}

// The jobs of other hosts do not wait for those of a slow host that were submitted before, even if these
// are more than an engine delivers at once. This also applies to jobs that are submitted later.
func TestSlowHostDoesNotHoldTheJobsOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow, hosts, others = 30_000, 20, 100
		q := newSlowQueue(t, 1, 0)
		for i := range slow {
			q.submit(t, queue.Normal, fmt.Sprint("x-sim://slow/", i))
		}
		for round, limit := range []time.Duration{time.Minute, 2 * time.Minute} {
			for i := range others {
				q.submit(t, queue.Normal, fmt.Sprintf("x-sim://h%d/%d/%d", i%hosts, round, i))
			}
			took := q.wait(func() bool { return q.others >= (round+1)*others })
			t.Logf("round %d took %v, after %d jobs of the slow host and %d moves", round, took, len(q.slow),
				q.moves)
			if took > limit {
				t.Errorf("round %d took %v, want at most %v", round, took, limit)
			}
		}
		q.stop()
	})
}

// The jobs of a slow host keep their order, except a few, and are not moved again and again. The host is not
// idle, also not at the end.
func TestJobsOfASlowHostKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const slow = 600
				q := newSlowQueue(t, workers, 3*slow/4)
				for i := range slow {
					q.submit(t, queue.Normal, fmt.Sprint("x-sim://slow/", i))
				}
				q.submit(t, queue.Normal, "x-sim://other/")
				if took := q.wait(func() bool { return q.others == 1 }); took > time.Minute {
					t.Errorf("the job of the other host took %v", took)
				}
				took := q.wait(func() bool { return len(q.slow) == slow })
				if took > slow*time.Second*21/20 {
					t.Errorf("%d jobs of a second each took %v", slow, took)
				}
				q.stop()
				late := 0
				for i, n := range q.slow {
					if i > n+slow/4 {
						late++
					}
				}
				t.Logf("%v, %d moves, %d put off, %d late", took, q.moves,
					metric(t, q.metrics, "urlget_put_off_total"), late)
				if late > slow/4 {
					t.Errorf("%d of %d jobs were executed late", late, slow)
				}
				if q.moves > 5*slow {
					t.Errorf("%d moves of %d jobs", q.moves, slow)
				}
			})
		})
	}
}

// unmovable is an engine whose workers have no right to move jobs.
type unmovable struct {
	*queuetest.Conn
	tries atomic.Int32
}

func (e *unmovable) Next(ctx context.Context) (queue.Delivery, error) {
	d, err := e.Conn.Next(ctx)
	if err != nil {
		return nil, err
	}
	return &unmovableDelivery{d, e}, nil
}

type unmovableDelivery struct {
	queue.Delivery
	engine *unmovable
}

func (d *unmovableDelivery) Move(context.Context) error {
	d.engine.tries.Add(1)
	return &fetch.Error{Code: fetch.ErrRefused}
}

// A worker that may not move jobs executes them all, and tries to move few.
func TestJobsThatCannotMoveAreReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = 300
		e := &unmovable{Conn: queuetest.NewModel(queuetest.Options{}).Connect("w")}
		for i := range slow {
			j := &job.Job{URL: uri.MustParse(fmt.Sprint("http://slow/", i))}
			if _, _, err := queue.Submit(t.Context(), e, queue.Normal, j); err != nil {
				t.Fatal(err)
			}
		}
		d := hostDriver{"slow": time.Second}
		withWorker(t, e, d, queue.Worker{Parallel: 4, PerHost: 1}, func(ctx context.Context) {
			n := 0
			for range e.Results(ctx, 0, true) {
				if n++; n == slow {
					break
				}
			}
		})
		if n := e.tries.Load(); n == 0 || n > 100 {
			t.Errorf("the worker tried to move jobs %d times", n)
		}
	})
}

// A moved job that has a result, because it was also where it had been, is not executed.
func TestMovedJobWithResultIsNotExecuted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := queuetest.NewModel(queuetest.Options{}).Connect("w")
		id, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: uri.MustParse("http://h/")})
		if err != nil {
			t.Fatal(err)
		}
		one, err := e.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(one.Move(t.Context()), e.PutResult(t.Context(), id, []byte("{}"))); err != nil {
			t.Fatal(err)
		}
		d := &slowDriver{}
		withWorker(t, e, d, queue.Worker{}, func(ctx context.Context) { time.Sleep(time.Minute) })
		if s, err := e.Status(t.Context()); err != nil || s.Depth() != 0 || d.requests.Load() != 0 {
			t.Errorf("%d requests, %+v, %v", d.requests.Load(), s, err)
		}
	})
}

// A host is not slow if it ends the jobs that a worker holds within seconds.
func TestJobsOfAHostThatKeepsUpAreNotMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const jobs = 3000
		q := newSlowQueue(t, 1, 0)
		for i := range jobs {
			q.submit(t, queue.Normal, fmt.Sprint("x-sim://quick/", i))
		}
		q.wait(func() bool { return q.others == jobs })
		q.stop()
		if q.moves > 0 {
			t.Errorf("%d jobs were moved", q.moves)
		}
	})
}

// TestSimulationOfSlowHosts is TestSimulation with more jobs of a host than its workers hold, so that jobs
// are moved. With faults, a moved job may be in the queue twice.
func TestSimulationOfSlowHosts(t *testing.T) {
	simulate(t, func(t *testing.T, seed uint64) {
		s := newSimulation(seed)
		r := rand.New(rand.NewPCG(seed, 2))
		for i := range 60 + r.IntN(80) {
			s.kinds[fmt.Sprintf("x-sim://h0/slow/%d", i)] = healthy
		}
		s.maxDelay = 10_000
		s.maxParallel = 1
		s.run(t)
	})
}
