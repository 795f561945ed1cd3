package jetstream_test

import (
	"context"
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	delivered := make(chan error, 1)
	go func() {
		_, err := e.Next(ctx)
		delivered <- err
	}()
	waitFor(t, "the warning", func() bool { return log.count("jobs wait, but the server delivers none") > 0 })
	if err := e.Ready(); err == nil || !strings.Contains(err.Error(), "1 jobs of normal priority wait") {
		t.Errorf("Ready: %v", err)
	}
	if err := e.Pause(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := <-delivered; err != nil {
		t.Fatal(err)
	}
	// Another waiting caller finds an empty queue, which is no stall.
	go e.Next(ctx)
	waitFor(t, "readiness", func() bool { return e.Ready() == nil })
}
