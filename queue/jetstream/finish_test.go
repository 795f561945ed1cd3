package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// taken submits jobs, takes them, and returns them with results.
func taken(t *testing.T, e *jetstream.Engine, n int) []queue.Finished {
	t.Helper()
	for i := range n {
		if _, err := e.Submit(t.Context(), queue.Normal, fmt.Sprint("key", i), []byte("job")); err != nil {
			t.Fatal(err)
		}
	}
	jobs := make([]queue.Finished, n)
	for i := range jobs {
		jobs[i] = queue.Finished{Delivery: nextDelivery(t, e), ID: fmt.Sprintf("%032d", i), Result: []byte(`{"a":"result"}`)}
	}
	return jobs
}

// Without groups, the server would send two responses for each job.
func TestFinishedJobsShareAResponse(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		const n = 200
		e := open(t, jetstream.Options{URL: start(t, withJetStream(t, "")).url})
		jobs, before := taken(t, e, n), e.Received()
		if err := errors.Join(e.Finish(t.Context(), jobs)...); err != nil {
			t.Fatal(err)
		}
		if got := e.Received() - before; got > n*3/2 {
			t.Errorf("%d messages from the server for %d jobs", got, n)
		}
		if s, err := e.Status(t.Context()); err != nil || s.Depth() != 0 || s.Results != n {
			t.Errorf("%+v, %v, want no jobs and %d results", s, err, n)
		}
	})
}

// A noted delivery records that it was acknowledged.
type noted struct {
	queue.Delivery
	acknowledged bool
}

func (d *noted) Ack(context.Context) error {
	d.acknowledged = true
	return nil
}

func TestNoJobIsAcknowledgedWithoutItsResult(t *testing.T) {
	for _, tt := range []struct {
		name  string
		open  func(*testing.T, starter) *jetstream.Engine
		class fetch.Code
		text  string
	}{
		{"a full stream", func(t *testing.T, start starter) *jetstream.Engine {
			s := start(t, withJetStream(t, ""))
			e := open(t, jetstream.Options{URL: s.url})
			js, err := natsjs.New(connect(t, s.url))
			if err != nil {
				t.Fatal(err)
			}
			stream, err := js.Stream(t.Context(), "urlget-results")
			if err != nil {
				t.Fatal(err)
			}
			cfg := stream.CachedInfo().Config
			cfg.MaxBytes = 10
			if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			return e
		}, "", "maximum bytes exceeded"},
		{"a user without the right", func(t *testing.T, start starter) *jetstream.Engine {
			conf, err := os.ReadFile(rightsFile)
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, withJetStream(t, string(conf)))
			open(t, jetstream.Options{URL: s.withLogin("admin:" + roles["admin"].password)})
			return open(t, jetstream.Options{URL: s.withLogin("submitter:" + roles["submitter"].password)})
		}, fetch.ErrRefused, "NATS denies to publish to urlget.results."},
		{"a lost connection", func(t *testing.T, start starter) *jetstream.Engine {
			route := newFaultyRoute(t, start(t, withJetStream(t, "")).url[len("nats://"):])
			opts := jetstream.Options{URL: "nats://" + route.addr}
			jetstream.WaitLong(&opts, patience)
			e := open(t, opts)
			route.lossy.Store(true)
			return e
		}, fetch.ErrNetwork, "ended before its response"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onServers(t, func(t *testing.T, start starter) {
				e := tt.open(t, start)
				d := [2]noted{}
				jobs := []queue.Finished{{Delivery: &d[0], ID: "a", Result: []byte("{}")}, {Delivery: &d[1], ID: "b", Result: []byte("{}")}}
				for i, err := range e.Finish(t.Context(), jobs) {
					if err == nil || tt.class != "" && fetch.CodeOf(err) != tt.class || !strings.Contains(err.Error(), tt.text) {
						t.Errorf("%v, want class %q and %q", err, tt.class, tt.text)
					}
					if d[i].acknowledged {
						t.Error("acknowledged")
					}
				}
			})
		})
	}
}
