package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// A blockingDriver responds for the host "slow" after the channel is closed, and for others at once.
type blockingDriver chan struct{}

func (d blockingDriver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if req.URL.Host() == "slow" {
		select {
		case <-d:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &fetch.Response{Meta: fetch.Meta{Size: 1}, Body: io.NopCloser(strings.NewReader("x"))}, nil
}

// The jobs of other hosts do not wait for those of a slow host, although these are more than the server
// delivers at once. Each job has one result.
func TestSlowHostDoesNotHoldTheJobsOfOthers(t *testing.T) {
	t.Parallel()
	const slow, others, taken = 300, 20, 150
	s := serve(t)
	opts := jetstream.Options{InProcess: s, URL: s.URL()}
	admin := open(t, opts)
	if err := admin.LimitTaken(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	for i := range slow + others {
		host := "slow"
		if i >= slow {
			host = fmt.Sprint("h", i)
		}
		j := &job.Job{URL: uri.MustParse(fmt.Sprintf("x-sim://%s/%d", host, i))}
		if _, _, err := queue.Submit(t.Context(), admin, queue.Normal, j); err != nil {
			t.Fatal(err)
		}
	}
	driver := make(blockingDriver)
	client := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-sim", Ops: []fetch.Op{fetch.OpGet}, Driver: driver})
	})
	defer client.Close()
	store, err := queue.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	workerCtx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	w := &queue.Worker{Engine: open(t, opts), Store: store, Parallel: 3, PerHost: 1,
		Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}}
	go func() { done <- w.Run(workerCtx) }()
	results := map[string]int{}
	for r, err := range admin.Results(ctx, 0, true) {
		if err != nil {
			t.Fatal(err)
		}
		var ev struct{ URL string }
		if err := json.Unmarshal(r.Data, &ev); err != nil {
			t.Fatal(err)
		}
		if results[ev.URL]++; len(results) == others {
			close(driver)
		}
		if len(results) == slow+others {
			break
		}
	}
	if len(results) != slow+others {
		t.Errorf("%d of %d jobs ended", len(results), slow+others)
	}
	for url, n := range results {
		if n != 1 {
			t.Errorf("%s has %d results", url, n)
		}
	}
	waitFor(t, "end of the last job", func() bool {
		s, err := admin.Status(ctx)
		return err == nil && s.Depth() == 0
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A job that cannot be moved, because the worker may not submit jobs or because the queue is full, is still
// there.
func TestJobThatCannotMoveStays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		permissions string
		maxJobs     int64
		check       func(error) bool
	}{
		"rights": {`, permissions: { publish: { deny: "urlget.jobs.*" } }`, 0,
			func(err error) bool { return fetch.CodeOf(err) == fetch.ErrRefused }},
		"full queue": {"", 2, func(err error) bool { return errors.Is(err, queue.ErrFull) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startLibrary(t, withJetStream(t, `authorization { users: [ { user: a, password: a },
				{ user: w, password: w`+tt.permissions+` } ] }`))
			as := func(user string) *jetstream.Engine {
				url := strings.Replace(n.url, "://", "://"+user+":"+user+"@", 1)
				return open(t, jetstream.Options{URL: url, MaxJobs: tt.maxJobs})
			}
			admin := as("a")
			for _, text := range []string{"one", "two"} {
				if _, err := admin.Submit(t.Context(), queue.Normal, text, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			w := as("w")
			d := nextDelivery(t, w)
			if err := d.Move(t.Context()); !tt.check(err) {
				t.Fatalf("the job was moved, or failed with %v", err)
			}
			if err := d.Return(0); err != nil {
				t.Fatal(err)
			}
			left := map[string]bool{"one": true, "two": true}
			for len(left) > 0 {
				d := nextDelivery(t, w)
				delete(left, string(d.Data()))
				if err := d.Ack(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if s, err := admin.Status(t.Context()); err != nil || s.Depth() != 0 {
				t.Errorf("%+v jobs left, %v", s, err)
			}
		})
	}
}

// The header of a moved job stays as it is, because workers of other versions share the queue.
func TestHeaderOfMovedJobs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1 7": "1 7 true", "12 30001": "12 30001 true",
		"": "0 0 false", "1": "1 0 false", "0 7": "0 7 false", "-1 7": "-1 7 false", "x 7": "0 0 false",
	} {
		if moves, first, ok := jetstream.ParseMoved(text); fmt.Sprint(moves, first, ok) != want {
			t.Errorf("%q is %d %d %v, want %s", text, moves, first, ok, want)
		}
	}
	s := serve(t)
	e := open(t, jetstream.Options{InProcess: s, URL: s.URL()})
	if _, err := e.Submit(t.Context(), queue.Normal, "key", []byte("job")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := nextDelivery(t, e).Move(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if d := nextDelivery(t, e); jetstream.MovedHeader(d) != "2 1" {
		t.Errorf("header %q after two moves of the first job", jetstream.MovedHeader(d))
	}
}
