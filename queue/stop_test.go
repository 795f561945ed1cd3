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

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// slowDriver is a driver that takes ten seconds for each response and counts the requests.
type slowDriver struct{ requests atomic.Int32 }

func (d *slowDriver) Open(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
	d.requests.Add(1)
	time.Sleep(10 * time.Second)
	return &fetch.Response{Meta: fetch.Meta{Size: 1}, Body: &closer{strings.NewReader("x"), func() {}}}, nil
}

// withWorker runs a worker with a driver while it calls during.
func withWorker(t *testing.T, e queue.Engine, d fetch.Driver, w queue.Worker, during func(context.Context)) {
	t.Helper()
	client := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "http", Ops: []fetch.Op{fetch.OpGet}, Driver: d})
	})
	defer client.Close()
	ctx, stop := context.WithCancel(t.Context())
	if w.Engine = e; w.Store == nil {
		w.Store = &worker{simulation: &simulation{stored: map[string]int{}}}
	}
	w.Runner = &job.Runner{Downloader: &download.Downloader{Client: client}}
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	during(ctx)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Jobs that the worker has taken but not started are returned while the queue is paused, so that
// another program can see and take them. They run when the queue resumes. The running job finishes.
func TestPausedQueueStartsNoJobs(t *testing.T) {
	t.Parallel()
	const jobs = 5
	traits := fetch.Traits{Pages: true, HTML: true}
	for name, tt := range map[string]struct {
		crawl  bool
		submit func(ctx context.Context, e queue.Engine, u uri.URI) error
	}{
		"jobs": {false, func(ctx context.Context, e queue.Engine, u uri.URI) error {
			_, _, err := queue.Submit(ctx, e, queue.Normal, &job.Job{URL: u})
			return err
		}},
		"pages": {true, func(ctx context.Context, e queue.Engine, u uri.URI) error {
			c, _, err := queue.StartCrawl(ctx, e, &queue.Crawl{NoRobots: true, Scope: crawl.Scope{MaxDepth: 1}})
			if err == nil {
				_, err = c.Submit(ctx, e, queue.Normal, u, traits)
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, d := queuetest.NewModel(queuetest.Options{}), &slowDriver{}
				e, other := m.Connect("a"), m.Connect("b")
				submit := func(i int) {
					if err := tt.submit(t.Context(), e, uri.MustParse(fmt.Sprintf("http://h/%d", i))); err != nil {
						t.Fatal(err)
					}
				}
				for i := range jobs - 1 {
					submit(i)
				}
				withWorker(t, e, d, queue.Worker{Parallel: 1, Crawl: tt.crawl}, func(ctx context.Context) {
					time.Sleep(time.Second)
					if err := other.SetState(ctx, queue.Paused); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					submit(jobs - 1)
					time.Sleep(5 * time.Minute)
					if s, err := e.Status(ctx); err != nil || s.Results != 1 || d.requests.Load() != 1 {
						t.Errorf("%d jobs started, status %+v, want only the job before SetState: %v", d.requests.Load(), s, err)
					}
					ctx, cancel := context.WithTimeout(ctx, time.Hour)
					defer cancel()
					var taken []queue.Delivery
					for range jobs - 1 { // the paused worker holds none
						one, err := other.Next(ctx)
						if err != nil {
							t.Fatal(err)
						}
						taken = append(taken, one)
					}
					for _, one := range taken {
						one.Return(0)
					}
					if err := other.SetState(ctx, queue.Running); err != nil {
						t.Fatal(err)
					}
					time.Sleep(5 * time.Minute)
					if s, err := e.Status(ctx); err != nil || s.Results != jobs || s.Depth() != 0 {
						t.Errorf("final status %+v, want %d results: %v", s, jobs, err)
					}
				})
			})
		})
	}
}

// A draining queue refuses every kind of submission, and workers finish its jobs. The links of a
// crawl are not submissions.
func TestDrainingQueueRefusesSubmissions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, e := t.Context(), queuetest.NewModel(queuetest.Options{}).Connect("a")
		one := &job.Job{URL: uri.MustParse("http://h/1")}
		c, _, err := queue.StartCrawl(ctx, e, &queue.Crawl{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := queue.Submit(ctx, e, queue.Normal, one); err != nil {
			t.Fatal(err)
		}
		var letter []byte
		for m := range e.Jobs(ctx, queue.Normal) {
			letter = m.Data
		}
		if err := e.SetState(ctx, queue.Draining); err != nil {
			t.Fatal(err)
		}
		for name, submit := range map[string]func() error{
			"Submit": func() error {
				_, _, err := queue.Submit(ctx, e, queue.Normal, &job.Job{URL: uri.MustParse("http://h/2")})
				return err
			},
			"SubmitAgain":  func() error { _, err := queue.SubmitAgain(ctx, e, queue.Normal, one); return err },
			"Letter.Retry": func() error { return (&queue.Letter{Priority: queue.Normal, Job: letter}).Retry(ctx, e) },
			"Crawl.Submit": func() error { _, err := c.Submit(ctx, e, queue.Normal, one.URL, fetch.Traits{}); return err },
		} {
			if err := submit(); !errors.Is(err, queue.ErrDraining) || fetch.CodeOf(err) != fetch.ErrRefused {
				t.Errorf("%s: %v, want ErrDraining", name, err)
			}
		}
		withWorker(t, e, &slowDriver{}, queue.Worker{}, func(ctx context.Context) {
			time.Sleep(time.Minute)
			if s, err := e.Status(ctx); err != nil || s.Results != 1 || s.Depth() != 0 {
				t.Errorf("status %+v, want one result: %v", s, err)
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
