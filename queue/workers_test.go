package queue_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// A worker reports itself when it starts and every few seconds. Its report ends with it or, if it
// lost its connection, after the TTL of leases.
func TestWorkersReportThemselves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := queuetest.NewModel(queuetest.Options{})
		admin, a, b := m.Connect("admin"), m.Connect("a"), m.Connect("b")
		list := func() []queue.WorkerReport {
			t.Helper()
			list, err := queue.ListWorkers(t.Context(), admin)
			if err != nil || list == nil {
				t.Fatal(list, err)
			}
			return list
		}
		for i := range 100 {
			j := &job.Job{URL: uri.MustParse(fmt.Sprintf("http://user:secret@h%d/", i))}
			if _, _, err := queue.Submit(t.Context(), admin, queue.Normal, j); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		withWorker(t, a, &slowDriver{}, queue.Worker{Name: "b", Parallel: 3}, func(context.Context) {
			time.Sleep(time.Second)
			withWorker(t, b, &slowDriver{}, queue.Worker{Name: "a\x1b[2J", Parallel: 1}, func(ctx context.Context) {
				time.Sleep(time.Second)
				if got := list(); len(got) != 2 || got[0].Name != "a\x1b[2J" || got[1].Name != "b" || got[1].Parallel != 3 || !got[1].Started.Equal(start) {
					t.Errorf("after the start: %+v", got)
				}
				jobs, most := 0.0, 0
				for range 12 { // a minute
					time.Sleep(5 * time.Second)
					got := list()[1]
					jobs, most = jobs+5*got.Rate, max(most, got.Running)
				}
				if got := list()[1]; most != 3 || got.Ended < 15 || got.Ended > 18 || got.Paused || math.Abs(jobs-float64(got.Ended)) > 0.1 {
					t.Errorf("after a minute: %v jobs according to rates, at most %d at once, %+v", jobs, most, got)
				}
				for r := range admin.Workers(ctx) {
					if text := string(r.Data); strings.Contains(text, "secret") || strings.Contains(text, "http") {
						t.Errorf("a report contains a URL: %s", text)
					}
				}
				if err := admin.SetState(ctx, queue.Paused); err != nil {
					t.Fatal(err)
				}
				time.Sleep(30 * time.Second)
				if got := list()[1]; got.Running != 0 || got.Rate != 0 || !got.Paused {
					t.Errorf("paused: %+v", got)
				}
				a.Cut(true)
				time.Sleep(9 * time.Second)
				if got := list(); len(got) != 2 {
					t.Errorf("before the report of the lost worker expires: %+v", got)
				}
				time.Sleep(7 * time.Second)
				if got := list(); len(got) != 1 {
					t.Errorf("after a connection was lost: %+v", got)
				}
				a.Cut(false)
				time.Sleep(10 * time.Second)
				if got := list(); len(got) != 2 || !got[1].Started.Equal(start) {
					t.Errorf("after the connection was restored: %+v", got)
				}
			})
			if got := list(); len(got) != 1 || got[0].Name != "b" {
				t.Errorf("after the end of one worker: %+v", got)
			}
		})
		if got := list(); len(got) != 0 {
			t.Errorf("after the end of both: %+v", got)
		}
	})
}

// Messages of other users that are not reports are skipped, and their number is limited.
func TestForgedReportsAreSkipped(t *testing.T) {
	t.Parallel()
	e := queuetest.NewModel(queuetest.Options{}).Connect("a")
	const started = `"started":"2026-11-28T00:00:00Z"`
	for id, text := range map[string]string{
		"valid":   `{"name":"valid",` + started + `,"running":1,"ended":2,"rate":0.5,"future":{}}`,
		"text":    "text",
		"array":   "[]",
		"unnamed": `{` + started + `}`,
		"times":   `{"name":"x","started":"soon"}`,
		"counts":  `{"name":"x",` + started + `,"running":-1}`,
		"ended":   `{"name":"x",` + started + `,"ended":-1}`,
		"rate":    `{"name":"x",` + started + `,"rate":-1}`,
		"long":    `{"name":"` + strings.Repeat("x", 5000) + `",` + started + `}`,
	} {
		if err := e.PutWorker(t.Context(), id, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := queue.ListWorkers(t.Context(), e); err != nil || len(list) != 1 || list[0].Name != "valid" || list[0].Rate != 0.5 {
		t.Errorf("%+v, %v", list, err)
	}
	for i := range 2 * queue.MaxWorkers {
		if err := e.PutWorker(t.Context(), fmt.Sprint(i), fmt.Appendf(nil, `{"name":"%d",%s}`, i, started)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := queue.ListWorkers(t.Context(), e); err != nil || len(list) > queue.MaxWorkers || len(list) < queue.MaxWorkers-10 {
		t.Errorf("%d workers, %v; want %d at most", len(list), err, queue.MaxWorkers)
	}
}
