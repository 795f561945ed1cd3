package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// TestWatchPrintsProgress ends two jobs within the first interval, none in the second one while the
// queue is paused, and purges results in the third one.
func TestWatchPrintsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := queuetest.NewModel(queuetest.Options{})
		e, other := m.Connect("a"), m.Connect("b")
		for i := range 6 {
			if _, err := e.Submit(t.Context(), queue.Normal, fmt.Sprint(i), []byte("job")); err != nil {
				t.Fatal(err)
			}
		}
		finish := func(n int) {
			for range n {
				d, err := other.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Ack(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		result := func(id string) {
			if err := other.PutResult(t.Context(), id, []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var out strings.Builder
		done := make(chan error)
		go func() {
			done <- (&app{out: &out, err: &out}).watch(ctx, e, &watchFlags{interval: 10 * time.Second, untilEmpty: true})
		}()
		time.Sleep(5 * time.Second)
		finish(2)
		result("1")
		result("2")
		if err := other.PutWorker(t.Context(), "x", []byte(`{"name":"x","started":"2026-11-28T00:00:00Z"}`)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Second) // 12 s
		if err := other.SetState(t.Context(), queue.Paused); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // 22 s
		if _, err := other.PurgeResults(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // 32 s
		finish(4)
		if err := <-done; err != nil {
			t.Error(err)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			got = append(got, strings.Join(strings.Fields(line)[1:], " "))
		}
		want := []string{"state waiting taken results dead workers per s remaining", "running 6 0 0 0 0 - -", "running 4 0 2 0 1 0.2 20s",
			"paused 4 0 2 0 0 0.0 -", "paused 4 0 0 0 0 - -", "paused 0 0 0 0 0 0.0 -"}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestWatchContinuesAfterFailures loses the connection for a while.
func TestWatchContinuesAfterFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := queuetest.NewModel(queuetest.Options{Timeout: time.Minute}).Connect("a")
		ctx, stop := context.WithCancel(t.Context())
		var out, messages strings.Builder
		done := make(chan error)
		go func() {
			done <- (&app{out: &out, err: &messages}).watch(ctx, e, &watchFlags{interval: 10 * time.Second, asJSON: true})
		}()
		time.Sleep(time.Second)
		e.Cut(true)
		time.Sleep(20 * time.Second)
		e.Cut(false)
		time.Sleep(20 * time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := strings.Count(out.String(), `"state":"running"`); n != 3 || strings.Count(messages.String(), "urlget: ") != 2 {
			t.Errorf("%d samples:\n%s\n%s", n, &out, &messages)
		}
	})
}
