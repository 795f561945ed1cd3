package queue_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// slowDriver is a driver that takes ten seconds for each response and counts the requests.
type slowDriver struct{ requests atomic.Int32 }

func (d *slowDriver) Open(ctx context.Context, _ *fetch.Request) (*driver.Response, error) {
	d.requests.Add(1)
	time.Sleep(10 * time.Second)
	return &driver.Response{Meta: fetch.Meta{Size: 1}, Body: &closer{strings.NewReader("x"), func() {}}}, nil
}

// withWorker runs a worker with a driver while it calls during.
func withWorker(t *testing.T, e queue.Engine, d driver.Driver, w queue.Worker, during func(context.Context)) {
	t.Helper()
	client := fetch.New(nil, func(_ driver.Env, reg *driver.Registry) {
		reg.Register(fetch.Scheme{Name: "http", Ops: []fetch.Op{fetch.OpGet}, Driver: d})
	})
	defer client.Close()
	ctx, stop := context.WithCancel(t.Context())
	w.Engine, w.Store = e, &worker{simulation: &simulation{stored: map[string]int{}}}
	w.Runner = &job.Runner{Downloader: &download.Downloader{Client: client}}
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	during(ctx)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A page that the worker has taken but not started is not visited while the crawl is stopped. It is
// visited when the crawl resumes.
func TestStoppedCrawlStartsNoVisits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, d := queuetest.NewModel(queuetest.Options{}), &slowDriver{}
		e := m.Connect("a")
		c, _, err := queue.StartCrawl(t.Context(), e, &queue.Crawl{NoRobots: true, Scope: crawl.Scope{MaxDepth: 1}})
		if err != nil {
			t.Fatal(err)
		}
		const pages = 5
		for i := range pages {
			if _, err := c.Submit(t.Context(), e, queue.Normal, uri.MustParse(fmt.Sprintf("http://h/%d", i)), fetch.Traits{Pages: true, HTML: true}); err != nil {
				t.Fatal(err)
			}
		}
		withWorker(t, e, d, queue.Worker{Parallel: 1, Crawl: true}, func(ctx context.Context) {
			time.Sleep(time.Second)
			if err := c.SetStopped(ctx, e, true); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			if n := d.requests.Load(); n != 1 {
				t.Errorf("%d visits started, want only the one before SetStopped", n)
			}
			if err := c.SetStopped(ctx, e, false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			if s, err := e.Status(ctx); err != nil || s.Results != pages || s.Depth() != 0 {
				t.Errorf("final status %+v, want %d results: %v", s, pages, err)
			}
		})
	})
}

// Each message that is not a valid job becomes a separate dead letter.
func TestInvalidMessagesBecomeSeparateLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := queuetest.NewModel(queuetest.Options{})
		e := m.Connect("a")
		c, _, err := queue.StartCrawl(t.Context(), e, &queue.Crawl{Scope: crawl.Scope{MaxDepth: 1}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if _, err := c.Submit(t.Context(), e, queue.Normal, uri.MustParse(fmt.Sprintf("http://h%d/", i)), fetch.Traits{Pages: true, HTML: true}); err != nil {
				t.Fatal(err)
			}
			text := strings.Repeat("x", 100_000) + fmt.Sprint(i)
			if _, err := e.Submit(t.Context(), queue.Normal, text, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		withWorker(t, e, &slowDriver{}, queue.Worker{}, func(ctx context.Context) { // a queue of pages without Worker.Crawl
			time.Sleep(time.Minute)
			if s, err := e.Status(ctx); err != nil || s.Dead != 4 || s.Depth() != 0 {
				t.Errorf("status %+v, want only 4 dead letters: %v", s, err)
			}
		})
	})
}

// A stopping worker returns jobs that have not started at once, including the next job for a host
// whose lease is in use.
func TestStoppingWorkerReturnsWaitingJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, d := queuetest.NewModel(queuetest.Options{}), &slowDriver{}
		e, other := m.Connect("a"), m.Connect("b")
		const jobs = 5
		for i := range jobs {
			if _, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: uri.MustParse(fmt.Sprint("http://h/", i))}); err != nil {
				t.Fatal(err)
			}
		}
		var taken int
		var elapsed time.Duration
		withWorker(t, e, d, queue.Worker{Parallel: 1}, func(context.Context) {
			time.Sleep(time.Second)
			go func() {
				start := time.Now()
				for ; taken < jobs-1; taken++ {
					if _, err := other.Next(t.Context()); err != nil {
						return
					}
				}
				elapsed = time.Since(start)
			}()
		})
		if synctest.Wait(); taken != jobs-1 || elapsed > time.Second {
			t.Errorf("%d jobs were returned, the last one after %v; want %d at once", taken, elapsed, jobs-1)
		}
		if n := d.requests.Load(); n != 1 {
			t.Errorf("%d jobs started, want one", n)
		}
	})
}
