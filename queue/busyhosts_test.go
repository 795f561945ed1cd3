package queue_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// busyDriver is a driver with one healthy host; all other hosts are busy.
type busyDriver struct{}

func (busyDriver) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	if req.URL.Host() != "well" {
		return nil, &fetch.Error{Code: fetch.ErrBusy, RetryAfter: time.Second}
	}
	time.Sleep(time.Second)
	return &fetch.Response{Meta: fetch.Meta{Size: 1}, Body: &closer{strings.NewReader("x"), func() {}}}, nil
}

// Hosts that are busy again and again, with growing pauses, do not keep a worker from the jobs of
// another host.
func TestBusyHostsDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := queuetest.NewModel(queuetest.Options{}).Connect("a")
		const jobs, busyJobs = 600, 40
		for i := range jobs {
			hosts := []string{"well"}
			if i < busyJobs {
				hosts = append(hosts, "one", "two", "three")
			}
			for _, host := range hosts {
				j := &job.Job{URL: uri.MustParse(fmt.Sprintf("http://%s/%d", host, i))}
				if _, _, err := queue.Submit(t.Context(), e, queue.Normal, j); err != nil {
					t.Fatal(err)
				}
			}
		}
		start := time.Now()
		withWorker(t, e, busyDriver{}, queue.Worker{Parallel: 4, PerHost: 4, Retry: retry.Policy{Tries: 1000}}, func(ctx context.Context) {
			n := 0
			for range e.Results(ctx, 0, true) {
				if n++; n == jobs {
					break
				}
			}
			if elapsed, limit := time.Since(start), jobs/4*time.Second*5/4; elapsed > limit {
				t.Errorf("jobs of the other host took %v, want at most %v", elapsed, limit)
			} else {
				t.Log(elapsed)
			}
		})
	})
}
