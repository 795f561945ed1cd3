package queue_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// A hangingDriver does not respond for the host "hangs" until it is closed. Other hosts respond at once.
type hangingDriver chan struct{}

func (d hangingDriver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if req.URL.Host() == "hangs" {
		select {
		case <-d:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return fastDriver{}.Open(ctx, req)
}

// A countingEngine counts the jobs that a worker has taken and neither returned nor acknowledged.
type countingEngine struct {
	queue.Engine
	held, most atomic.Int64
}

func (e *countingEngine) Next(ctx context.Context) (queue.Delivery, error) {
	d, err := e.Engine.Next(ctx)
	if err != nil {
		return nil, err
	}
	if n := e.held.Add(1); n > e.most.Load() {
		e.most.Store(n)
	}
	return &countedDelivery{d, e}, nil
}

type countedDelivery struct {
	queue.Delivery
	engine *countingEngine
}

func (d *countedDelivery) Ack(ctx context.Context) error {
	d.engine.held.Add(-1)
	return d.Delivery.Ack(ctx)
}

func (d *countedDelivery) Return(delay time.Duration) error {
	d.engine.held.Add(-1)
	return d.Delivery.Return(delay)
}

// A host that hangs does not keep a worker from the jobs of others, however many of its jobs are before
// them. The worker holds a few of these jobs, and runs all of them soon after the host responds again.
func TestHangingHostDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	for _, hanging := range []int{1000, 5000} {
		t.Run(fmt.Sprint(hanging), func(t *testing.T) {
			t.Parallel()
			if hanging > 1000 {
				fetchtest.Long(t)
			}
			testHangingHost(t, hanging)
		})
	}
}

func testHangingHost(t *testing.T, hanging int) {
	const others, parallel = 100, 4
	synctest.Test(t, func(t *testing.T) {
		m, d := queuetest.NewModel(queuetest.Options{}), make(hangingDriver)
		e := &countingEngine{Engine: m.Connect("a")}
		submit := func(u string) {
			if _, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: uri.MustParse(u)}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range hanging {
			submit(fmt.Sprintf("http://hangs/%d", i))
		}
		for i := range others {
			submit(fmt.Sprintf("http://other%d/%d", i%10, i))
		}
		start := time.Now()
		withWorker(t, e, d, queue.Worker{Parallel: parallel, Stall: time.Hour}, func(ctx context.Context) {
			n := 0
			for r, err := range m.Connect("b").Results(ctx, 0, true) {
				if err != nil {
					t.Error(err)
					break
				}
				if n++; n <= others && strings.Contains(string(r.Data), "hangs") {
					t.Errorf("%s", r.Data)
				}
				if n == others {
					if elapsed := time.Since(start); elapsed > 40*time.Second {
						t.Errorf("the other hosts took %v", elapsed)
					}
					time.Sleep(10 * time.Second)
					close(d)
					start = time.Now()
				}
				if n == hanging+others {
					break
				}
			}
			if elapsed := time.Since(start); elapsed > 2*time.Minute {
				t.Errorf("the host that responds again took %v", elapsed)
			}
		})
		// The buffer, those that run, and those whose results are published together.
		if n := e.most.Load(); n > 40*parallel+64 {
			t.Errorf("the worker held %d jobs", n)
		}
	})
}
