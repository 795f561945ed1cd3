package queue_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// fastDriver is a driver that responds at once.
type fastDriver struct{}

func (fastDriver) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	return &fetch.Response{Meta: fetch.Meta{Size: 1}, Body: &closer{strings.NewReader("x"), func() {}}}, nil
}

// A deferred job returns seconds later. Jobs are deferred only for busy hosts, not because they
// arrive faster than the scheduler starts them.
func TestStartableJobsAreNotDeferred(t *testing.T) {
	t.Parallel()
	const jobs = 2000
	m := queuetest.NewModel(queuetest.Options{})
	e := m.Connect("a")
	for i := range jobs {
		if _, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: uri.MustParse(fmt.Sprint("x-sim://h/", i))}); err != nil {
			t.Fatal(err)
		}
	}
	store, err := queue.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	client := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-sim", Ops: []fetch.Op{fetch.OpGet}, Driver: fastDriver{}})
	})
	defer client.Close()
	ctx, stop := context.WithCancel(t.Context())
	metrics := &queue.Metrics{}
	w := &queue.Worker{Engine: e, Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}, Store: store,
		Parallel: 4, PerHost: 12, Grace: -1, Metrics: metrics}
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	n := 0
	for range m.Connect("b").Results(t.Context(), 0, true) {
		if n++; n == jobs {
			break
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	// On a loaded machine, a few jobs may be deferred while nothing runs.
	if n := metric(t, metrics, "urlget_put_off_total"); n > jobs/100 {
		t.Errorf("%d jobs were deferred", n)
	}
}

// metric returns the value of a counter.
func metric(t *testing.T, m *queue.Metrics, name string) (n int) {
	t.Helper()
	var b strings.Builder
	m.WriteText(&b, nil)
	for line := range strings.Lines(b.String()) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(value, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no metric %s in\n%s", name, b.String())
	return 0
}
