package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// Every cancelled job has one result, which says so: a waiting job, one that a worker executes, and
// one that it holds. Only jobs that a worker holds may still be executed. A finished job keeps its result.
func TestCancelledJobsHaveOneResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, d := queuetest.NewModel(queuetest.Options{}), &slowDriver{}
		e, admin := m.Connect("a"), m.Connect("b")
		const jobs = 200
		for i := range jobs {
			if _, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: uri.MustParse(fmt.Sprintf("http://h/%d", i))}); err != nil {
				t.Fatal(err)
			}
		}
		var first queue.Stored
		for j := range admin.Jobs(t.Context(), queue.Normal) {
			first = j
			break
		}
		withWorker(t, e, d, queue.Worker{Parallel: 1}, func(ctx context.Context) {
			time.Sleep(15 * time.Second) // the first job has ended and the second one runs
			taken, waiting := 0, 0
			for j, err := range admin.Jobs(ctx, queue.Normal) {
				if err != nil {
					t.Fatal(err)
				}
				if j.Taken {
					taken++
				} else {
					waiting++
				}
				if ok, err := (&queue.Results{Engine: admin}).Cancel(ctx, queue.Normal, j); !ok || err != nil {
					t.Errorf("%s: %v, %v", j.Data, ok, err)
				}
			}
			if taken < 2 || waiting == 0 || taken+waiting != jobs-1 {
				t.Errorf("%d taken and %d waiting jobs", taken, waiting)
			}
			if ok, err := (&queue.Results{Engine: admin}).Cancel(ctx, queue.Normal, first); ok || err != nil {
				t.Errorf("a finished job: %v, %v", ok, err)
			}
			time.Sleep(time.Hour)
			events := map[string]int{}
			for r, err := range admin.Results(ctx, 0, false) {
				var ev queue.Event
				if err != nil || json.Unmarshal(r.Data, &ev) != nil || ev.ID != r.ID || ev.Key == "" {
					t.Fatalf("%s: %v", r.Data, err)
				}
				events[ev.Name+ev.Reason]++
			}
			if events["saved"] != 1 || events["skippedcancelled"] != jobs-1 || len(events) != 2 {
				t.Errorf("results: %v", events)
			}
			if s, err := admin.Status(ctx); err != nil || s.Depth() != 0 || s.Dead != 0 {
				t.Errorf("%+v, %v", s, err)
			}
			if n := int(d.requests.Load()); n > 1+taken {
				t.Errorf("%d requests, and the worker held %d jobs", n, taken)
			}
		})
	})
}
