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

// delayDriver is a driver that takes the given time for each response.
type delayDriver time.Duration

func (s delayDriver) Open(context.Context, *fetch.Request) (*fetch.Response, error) {
	time.Sleep(time.Duration(s))
	return &fetch.Response{Meta: fetch.Meta{Size: 1}, Body: &closer{strings.NewReader("x"), func() {}}}, nil
}

// Three workers are nearly as fast as one worker with all jobs. Jobs that wait for a lease do not
// block others and do not return to the queue.
func TestWorkersShareHosts(t *testing.T) {
	t.Parallel()
	const workers, parallel, delay = 3, 4, 20 * time.Millisecond
	for _, c := range []struct {
		hosts, perHost, jobs int
		maxFactor            float64 // maximum, as a multiple of the minimum
		maxDeferred          int     // maximum number
	}{
		// The distribution of leases among workers is random, so these limits are generous. Without
		// the prefetch buffer, the first case took five times the minimum.
		{12, 2, 6000, 1.5, 600},
		{1, 12, 3000, 1.5, 300},
		{1, 2, 900, 1.6, 700}, // more jobs wait than fit into the buffers
	} {
		t.Run(fmt.Sprint(c.hosts, "/", c.perHost), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := queuetest.NewModel(queuetest.Options{})
				for i := range c.jobs {
					j := &job.Job{URL: uri.MustParse(fmt.Sprintf("x-sim://h%d/%d", i%c.hosts, i))}
					if _, _, err := queue.Submit(t.Context(), m.Connect("a"), queue.Normal, j); err != nil {
						t.Fatal(err)
					}
				}
				ctx, stop := context.WithCancel(t.Context())
				metrics := &queue.Metrics{}
				var group sync.WaitGroup
				start := time.Now()
				for i := range workers {
					group.Go(func() {
						client := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
							reg.Register(fetch.Scheme{Name: "x-sim", Ops: []fetch.Op{fetch.OpGet}, Driver: delayDriver(delay)})
						})
						defer client.Close()
						w := &worker{simulation: &simulation{stored: map[string]int{}}}
						(&queue.Worker{Engine: m.Connect(fmt.Sprint("w", i)), Store: w, Parallel: parallel, PerHost: c.perHost, Metrics: metrics,
							Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}}).Run(ctx)
					})
				}
				n := 0
				for range m.Connect("b").Results(ctx, 0, true) {
					if n++; n == c.jobs {
						break
					}
				}
				elapsed := time.Since(start)
				stop()
				group.Wait()
				minimum := delay * time.Duration(c.jobs/min(workers*parallel, c.hosts*c.perHost))
				deferred := metric(t, metrics, "urlget_put_off_total")
				t.Logf("took %v, minimum %v; %d deferred", elapsed, minimum, deferred)
				if elapsed.Seconds() > c.maxFactor*minimum.Seconds() {
					t.Errorf("took %v, minimum %v", elapsed, minimum)
				}
				if deferred > c.maxDeferred {
					t.Errorf("%d of %d jobs were deferred", deferred, c.jobs)
				}
			})
		})
	}
}
