package jetstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/jetstream/embedded"
)

// TestStallsAreReported pauses the deliveries of the server while a job waits, and resumes them.
func TestStallsAreReported(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	log := &lines{}
	opts := jetstream.Options{InProcess: server, URL: server.URL(), Logger: log.logger()}
	jetstream.StallAfter(&opts, 300*time.Millisecond)
	e, err := jetstream.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Pause(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: uri.MustParse("http://h.example/")}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		for ctx.Err() == nil {
			// As for a worker, an error such as a late heartbeat of the server is not the end. Without a
			// caller of Next, the engine would request no jobs and notice no stall.
			if _, err := e.Next(ctx); err == nil {
				return
			}
		}
	}()
	waitFor(t, "the warning", func() bool { return log.count("jobs wait, but the server delivers none") > 0 })
	waitFor(t, "the error of Ready", func() bool { // a new leader may report progress first
		err := e.Ready()
		return err != nil && strings.Contains(err.Error(), "1 jobs of normal priority wait")
	})
	if err := e.Pause(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the delivery", func() bool {
		select {
		case <-delivered:
			return true
		default:
			return false
		}
	})
	// Another waiting caller finds an empty queue, which is no stall.
	go func() {
		for ctx.Err() == nil {
			e.Next(ctx)
		}
	}()
	waitFor(t, "readiness", func() bool { return e.Ready() == nil })
}

// Jobs of a higher priority that the server delivers late come before those of a lower priority.
func TestLateJobsKeepTheirPriority(t *testing.T) {
	t.Parallel()
	s := serve(t)
	admin := open(t, jetstream.Options{InProcess: s, URL: s.URL()})
	for _, p := range []queue.Priority{queue.Low, queue.Normal} {
		if _, err := admin.Submit(t.Context(), p, string(p), []byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.Pause(t.Context(), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	e := open(t, jetstream.Options{InProcess: s, URL: s.URL()})
	for _, want := range []queue.Priority{queue.Normal, queue.Low} {
		d := nextDelivery(t, e)
		if d.Priority() != want {
			t.Errorf("delivered a job of %s priority, want %s", d.Priority(), want)
		}
		if err := d.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// After a full batch more jobs may wait, although nothing was pending when its last job was sent. Those
// of a lower priority wait until that is checked.
func TestFullBatchesLeaveTheStreamUnchecked(t *testing.T) {
	t.Parallel()
	s := serve(t)
	e := open(t, jetstream.Options{InProcess: s, URL: s.URL()})
	const batch = 8
	for i := range batch {
		if _, err := e.Submit(t.Context(), queue.High, fmt.Sprint(i), []byte("high")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Submit(t.Context(), queue.Low, "low", []byte("low")); err != nil {
		t.Fatal(err)
	}
	for i := range batch + 1 {
		d := nextDelivery(t, e)
		if want := map[bool]queue.Priority{true: queue.High, false: queue.Low}[i < batch]; d.Priority() != want {
			t.Errorf("job %d has %s priority, want %s", i, d.Priority(), want)
		}
		if err := d.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			waitFor(t, "a full batch that leaves open whether the stream is empty", func() bool {
				jobs, empty := e.Prefetched(queue.High)
				return jobs == batch-1 && !empty
			})
		}
	}
}
