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
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// A secondDriver responds after a second, except for the path "/slow".
type secondDriver struct{ requests atomic.Int32 }

func (d *secondDriver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	d.requests.Add(1)
	wait := time.Second
	if req.URL.Path() == "/slow" {
		wait = time.Hour
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &fetch.Response{Meta: fetch.Meta{Size: 1}, Body: &closer{strings.NewReader("x"), func() {}}}, nil
}

// submitPaths submits jobs and returns their IDs by the sequence of their messages.
func submitPaths(t *testing.T, a queue.Admin, paths ...string) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for i, path := range paths {
		id, _, err := queue.Submit(t.Context(), a, queue.Normal, &job.Job{URL: uri.MustParse(fmt.Sprint("http://h", i, path))})
		if err != nil {
			t.Fatal(err)
		}
		ids[fmt.Sprint(i+1)] = id
	}
	return ids
}

func waitUntilEmpty(ctx context.Context, t *testing.T, a queue.Admin) {
	t.Helper()
	for s, err := a.Status(ctx); s.Depth() > 0; s, err = a.Status(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
}

// Jobs that finish together have one result each, and none is acknowledged before its result is stored,
// whatever happens to the messages of one of them.
func TestFaultsOfJobsThatFinishTogether(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, op string
		times    int32
		fault    queuetest.Fault
		requests int32 // of four jobs
	}{
		{"no fault", "", 0, queuetest.Fault{}, 4},
		{"a result is lost", "result", 1, queuetest.Fault{Lost: true}, 4},
		{"a result is lost twice", "result", 2, queuetest.Fault{Lost: true}, 4},
		{"a result is stored and its response lost", "result", 1, queuetest.Fault{ResponseLost: true}, 4},
		{"a result cannot be stored for a while", "result", 8, queuetest.Fault{Lost: true}, 5},
		{"an acknowledgement is lost", "ack", 1, queuetest.Fault{Lost: true}, 4},
		{"an acknowledgement is lost until the job is delivered again", "ack", 30, queuetest.Fault{Lost: true}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ids map[string]string
				var admin *queuetest.Conn
				var faults atomic.Int32
				m := queuetest.NewModel(queuetest.Options{Fault: func(conn, op, key string) queuetest.Fault {
					if conn == "admin" {
						return queuetest.Fault{}
					}
					if op == "ack" {
						if _, err := admin.Result(t.Context(), ids[key]); err != nil {
							t.Errorf("job %s is acknowledged: %v", key, err)
						}
					}
					if op == tt.op && (key == "2" || key == ids["2"]) && faults.Add(1) <= tt.times {
						return tt.fault
					}
					return queuetest.Fault{}
				}})
				admin = m.Connect("admin")
				ids = submitPaths(t, admin, "/a", "/b", "/c", "/d")
				d := &secondDriver{}
				withWorker(t, m.Connect("a"), d, queue.Worker{}, func(ctx context.Context) {
					waitUntilEmpty(ctx, t, admin)
				})
				if s, err := admin.Status(t.Context()); err != nil || s.Results != 4 || s.Dead != 0 {
					t.Errorf("%+v, %v, want four results", s, err)
				}
				if n := d.requests.Load(); n != tt.requests || faults.Load() < tt.times {
					t.Errorf("%d requests, want %d, after %d faults of %d", n, tt.requests, faults.Load(), tt.times)
				}
			})
		})
	}
}

// A worker that fails between the results and the acknowledgements leaves jobs that the next worker
// finds finished.
func TestCrashBeforeAcknowledgements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		crashed := make(chan struct{})
		m := queuetest.NewModel(queuetest.Options{Fault: func(conn, op, key string) queuetest.Fault {
			if conn == "first" && op == "ack" {
				select {
				case <-crashed:
				default:
					close(crashed)
				}
				return queuetest.Fault{Lost: true}
			}
			return queuetest.Fault{}
		}})
		first, admin := m.Connect("first"), m.Connect("admin")
		submitPaths(t, admin, "/a", "/b", "/c")
		d := &secondDriver{}
		withWorker(t, first, d, queue.Worker{Grace: -1}, func(ctx context.Context) {
			<-crashed
			first.Cut(true)
		})
		if s, err := admin.Status(t.Context()); err != nil || s.Results != 3 || s.Depth() != 3 {
			t.Errorf("%+v, %v, want three results and their jobs", s, err)
		}
		withWorker(t, m.Connect("second"), d, queue.Worker{}, func(ctx context.Context) {
			waitUntilEmpty(ctx, t, admin)
		})
		if s, err := admin.Status(t.Context()); err != nil || s.Results != 3 || d.requests.Load() != 3 {
			t.Errorf("%+v, %v, %d requests, want three results and requests", s, err, d.requests.Load())
		}
	})
}

// A worker that stops publishes the results that wait for others, while it gives up a job that runs.
func TestStoppedWorkerFinishesItsJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := queuetest.NewModel(queuetest.Options{})
		admin := m.Connect("admin")
		submitPaths(t, admin, "/slow", "/a", "/b")
		withWorker(t, m.Connect("a"), &secondDriver{}, queue.Worker{Grace: -1}, func(ctx context.Context) {
			time.Sleep(time.Second + time.Millisecond) // the results wait for that of the slow job
			synctest.Wait()
			if s, err := admin.Status(ctx); err != nil || s.Results != 0 {
				t.Errorf("%+v, %v, want no results yet", s, err)
			}
		})
		if s, err := admin.Status(t.Context()); err != nil || s.Results != 2 || s.Depth() != 1 {
			t.Errorf("%+v, %v, want two results and the slow job", s, err)
		}
	})
}

// Output such as an archive is made durable once for jobs that finish together, before their results.
func TestJobsThatFinishTogetherShareASync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const jobs = 12
		m := queuetest.NewModel(queuetest.Options{})
		admin := m.Connect("admin")
		paths := make([]string, jobs)
		for i := range paths {
			paths[i] = "/a"
		}
		submitPaths(t, admin, paths...)
		var syncs atomic.Int32
		w := queue.Worker{Parallel: jobs, Sync: func() error { syncs.Add(1); return nil }}
		withWorker(t, m.Connect("a"), &secondDriver{}, w, func(ctx context.Context) {
			waitUntilEmpty(ctx, t, admin)
		})
		if s, err := admin.Status(t.Context()); err != nil || s.Results != jobs || syncs.Load() != 1 {
			t.Errorf("%+v, %v, %d syncs, want one", s, err, syncs.Load())
		}
	})
}
