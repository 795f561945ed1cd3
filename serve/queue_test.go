package serve_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/serve"
)

// A queueSource is the source of samples of a test.
type queueSource struct {
	reports chan func(func(serve.QueueSample, error))
	done    chan struct{} // closed when the server has ended watch
}

func (q *queueSource) watch(ctx context.Context, report func(serve.QueueSample, error)) {
	defer close(q.done)
	for {
		select {
		case f := <-q.reports:
			f(report)
		case <-ctx.Done():
			return
		}
	}
}

// send reports samples, and then a failure unless it is nil.
func (q *queueSource) send(err error, samples ...serve.QueueSample) {
	sent := make(chan struct{})
	q.reports <- func(report func(serve.QueueSample, error)) {
		defer close(sent)
		for _, s := range samples {
			report(s, nil)
		}
		if err != nil {
			report(serve.QueueSample{}, err)
		}
	}
	<-sent
}

// startQueue runs a server with the page of a queue.
func startQueue(t *testing.T) (*user, *queueSource) {
	q := &queueSource{make(chan func(func(serve.QueueSample, error))), make(chan struct{})}
	return start(t, func(o *serve.Options, _ *fetch.Options) { o.Queue = q.watch }), q
}

var queueStart = time.Date(2026, time.November, 28, 3, 0, 0, 0, time.UTC)

// sampleAt returns a sample some seconds after queueStart. A negative rate is unknown.
func sampleAt(seconds int, results uint64, rate float64) serve.QueueSample {
	s := serve.QueueSample{Time: queueStart.Add(time.Duration(seconds) * time.Second), State: "running", Waiting: 7, Taken: 3, Results: results, Dead: 1}
	if rate >= 0 {
		s.Rate = &rate
	}
	return s
}

func TestQueueIsWatchedFromTheFirstLook(t *testing.T) {
	t.Parallel()
	u, q := startQueue(t)
	u.get("/").want(t, http.StatusOK, `<a href="/queue">Queue</a>`)
	select {
	case q.reports <- func(func(serve.QueueSample, error)) {}:
		t.Error("the queue is watched before somebody looks at the page")
	default:
	}
	u.get("/queue").want(t, http.StatusOK, "Waiting for the queue", `<meta http-equiv="refresh" content="2">`, `<a href="/queue?still">`)
	u.get("/queue?still").without(t, `http-equiv="refresh"`)
	q.send(nil, sampleAt(0, 5, -1))
	u.get("/queue").want(t, http.StatusOK, "<dt>State</dt><dd>running</dd>", "<dt>Waiting</dt><dd>7</dd>", "<dt>Taken</dt><dd>3</dd>", "<dt>Results</dt><dd>5</dd>",
		"<dt>Dead letters</dt><dd>1</dd>", "<dt>Results per second</dt><dd>unknown</dd>", "<dt>Time left</dt><dd>unknown</dd>", "<dd>2026-11-28 03:00:00 UTC, ")
	u.serve.Close()
	<-q.done
	u.get("/queue").want(t, http.StatusOK, "<dt>Results</dt><dd>5</dd>") // starts nothing
}

func TestNoQueueHasNoPage(t *testing.T) {
	t.Parallel()
	u := start(t)
	u.get("/queue").want(t, http.StatusNotFound)
	u.get("/").without(t, "/queue")
}

func TestQueueHistoryIsAGraph(t *testing.T) {
	t.Parallel()
	const gap = -1
	for _, tt := range []struct {
		name    string
		samples []serve.QueueSample
		want    []string
		without string
	}{
		{"one sample", []serve.QueueSample{sampleAt(0, 5, 1)}, nil, "<svg"},
		{"rates and results", []serve.QueueSample{sampleAt(0, 10, gap), sampleAt(2, 14, 2), sampleAt(4, 22, 4)},
			[]string{`<path d="M300.0 50.0L600.0 0.0"/>`, "Results per second: 0.0 to 4.0",
				"<span>03:00:00</span> <span>03:00:04 UTC</span>", "<dd>4.0</dd>"}, ""},
		{"a restart leaves a gap", []serve.QueueSample{sampleAt(0, 0, 1), sampleAt(2, 0, 1), sampleAt(4, 0, gap), sampleAt(6, 0, 1), sampleAt(8, 0, 1)},
			[]string{`<path d="M0.0 0.0L150.0 0.0M450.0 0.0L600.0 0.0"/>`}, ""},
		{"no rate", []serve.QueueSample{sampleAt(0, 1, gap), sampleAt(2, 1, gap)}, nil, "<svg"},
		{"the clock was set back", []serve.QueueSample{sampleAt(0, 1, gap), sampleAt(9, 1, 1), sampleAt(5, 1, 1)}, []string{"03:00:05 UTC"}, "<svg"},
		{"extreme numbers", []serve.QueueSample{sampleAt(0, 0, 1e308), sampleAt(2, 1<<64-1, 0)}, []string{"0.0 to 1e&#43;308"}, "NaN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u, q := startQueue(t)
			u.get("/queue")
			q.send(nil, tt.samples...)
			p := u.get("/queue")
			p.want(t, http.StatusOK, tt.want...)
			if tt.without != "" {
				p.without(t, tt.without)
			}
		})
	}
}

func TestQueueHistoryIsBounded(t *testing.T) {
	t.Parallel()
	u, q := startQueue(t)
	u.get("/queue")
	var samples []serve.QueueSample
	for i := range 1000 {
		samples = append(samples, sampleAt(i, uint64(i), 1))
	}
	q.send(nil, samples...)
	p := u.get("/queue")
	p.want(t, http.StatusOK, "<dd>999</dd>")
	if n := strings.Count(p.text, "L"); n > 350 {
		t.Errorf("%d lines in the graph", n)
	}
}

func TestQueueTimeLeft(t *testing.T) {
	t.Parallel()
	u, q := startQueue(t)
	u.get("/queue")
	for i, tt := range []struct {
		seconds float64
		want    string
	}{{0, "0s"}, {3723, "1h2m3s"}, {1e300, "more than a year"}, {-5, "0s"}} {
		s := sampleAt(i, 1, 1)
		s.Remaining = &tt.seconds
		q.send(nil, s)
		u.get("/queue").want(t, http.StatusOK, "<dt>Time left</dt><dd>"+tt.want+"</dd>")
	}
}

func TestQueueWorkersAreATable(t *testing.T) {
	t.Parallel()
	u, q := startQueue(t)
	u.get("/queue")
	s := sampleAt(0, 1, 1)
	s.Workers = []serve.QueueWorker{{Name: "a.example", Started: queueStart, Running: 4, Ended: 1234, Rate: 2.25}, {Name: "b.example"}}
	q.send(nil, s)
	u.get("/queue").want(t, http.StatusOK, `<th scope="row">a.example</th><td class="date">2026-11-28 03:00:00 UTC</td><td class="number">4</td><td class="number">1234</td><td class="number">2.2</td>`,
		`<th scope="row">b.example</th><td class="date"></td><td class="number">0</td>`)
	s = sampleAt(1, 1, 1)
	for i := range 1000 {
		s.Workers = append(s.Workers, serve.QueueWorker{Name: fmt.Sprint("w", i)})
	}
	q.send(nil, s)
	p := u.get("/queue")
	p.want(t, http.StatusOK, "<th scope=\"row\">w199</th>", "800 more workers are not shown.")
	p.without(t, "w200<", "a.example")
	q.send(nil, sampleAt(2, 1, 1))
	u.get("/queue").without(t, "Workers", "No worker runs.")
	s = sampleAt(3, 1, 1)
	s.Workers = []serve.QueueWorker{}
	q.send(nil, s)
	u.get("/queue").want(t, http.StatusOK, "No worker runs.")
}

func TestQueueProblemIsShownUntilTheNextSample(t *testing.T) {
	t.Parallel()
	u, q := startQueue(t)
	u.get("/queue")
	q.send(errors.New("connect to 127.0.0.1:4222: connection refused"))
	p := u.get("/queue")
	p.want(t, http.StatusOK, `<p class="wrong" role="alert">connect to 127.0.0.1:4222: connection refused</p>`, "Waiting for the queue", `http-equiv="refresh"`)
	q.send(errors.New("network: no response"), sampleAt(0, 5, 1))
	u.get("/queue").want(t, http.StatusOK, "network: no response", "<dt>Results</dt><dd>5</dd>")
	q.send(nil, sampleAt(2, 6, 1))
	u.get("/queue").without(t, "network: no response", "role=\"alert\"")
}

// TestQueueTextIsEscaped shows texts that another user of the queue could choose.
func TestQueueTextIsEscaped(t *testing.T) {
	t.Parallel()
	u, q := startQueue(t)
	u.get("/queue")
	s := sampleAt(0, 1, 1)
	s.State = script + handler
	s.Workers = []serve.QueueWorker{{Name: script + handler + "\u202e" + strings.Repeat("x", 5000)}}
	q.send(errors.New(script+handler+strings.Repeat("é", 5000)), s)
	p := u.get("/queue")
	p.want(t, http.StatusOK, "alert(1)", "…")
	p.without(t, script, "<img src=x", "\u202e")
	if len(p.text) > 20_000 {
		t.Errorf("the page has %d bytes", len(p.text))
	}
	if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy: %s", csp)
	}
}
