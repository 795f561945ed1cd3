package serve

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A QueueSample is the state of a queue at a time. As JSON, it is a line of "urlget queue watch
// --json".
type QueueSample struct {
	Time    time.Time `json:"time"`
	State   string    `json:"state"`   // such as "running" and "paused"
	Waiting uint64    `json:"waiting"` // jobs that no worker has
	Taken   uint64    `json:"taken"`   // jobs that workers have
	Results uint64    `json:"results"`
	Dead    uint64    `json:"dead"` // dead letters
	// Rate is the number of results per second since the sample before. Remaining is the time in
	// seconds until all jobs have ended at that rate. Both are nil if they are not known.
	Rate      *float64 `json:"rate,omitempty"`
	Remaining *float64 `json:"remaining,omitempty"`
	// Workers lists the running workers of the queue. It is nil if they are not known.
	Workers []QueueWorker `json:"workers,omitzero"`
}

// A QueueWorker is a worker of a queue.
type QueueWorker struct {
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	Running uint64    `json:"running"` // jobs
	Ended   uint64    `json:"ended"`   // jobs since it started
	Rate    float64   `json:"rate"`    // jobs per second
}

const (
	// maxQueueSamples limits the history of the queue: ten minutes, if a sample comes every two
	// seconds.
	maxQueueSamples = 300
	maxQueueWorkers = 200
	// maxQueueText limits a text of a sample, and the message of a failure, in bytes.
	maxQueueText = 400
	// maxQueueRemaining limits the time left that the page shows, in seconds.
	maxQueueRemaining = 365 * 24 * 60 * 60
)

type queueHistory struct {
	mu      sync.Mutex
	samples []QueueSample      // oldest first; only the last one has workers
	problem string             // the latest failure; "" after a sample
	cancel  context.CancelFunc // nil until start
	closed  bool
	ended   sync.WaitGroup
}

// start runs watch until close. Later calls do nothing.
func (h *queueHistory) start(watch func(context.Context, func(QueueSample, error))) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cancel != nil || h.closed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.ended.Go(func() { watch(ctx, h.report) })
}

func (h *queueHistory) close() {
	h.mu.Lock()
	h.closed = true
	if h.cancel != nil {
		h.cancel()
	}
	h.mu.Unlock()
	h.ended.Wait()
}

// report adds a sample, or a failure to get one. Another process made the sample, so its size is
// limited here.
func (h *queueHistory) report(s QueueSample, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.problem = cutText(messageOf(err))
		return
	}
	h.problem, s.State = "", fetch.Printable(cutText(s.State))
	if n := len(h.samples); n > 0 {
		h.samples[n-1].Workers = nil
		if !s.Time.After(h.samples[n-1].Time) { // the clock was set back
			h.samples = nil
		}
	}
	if len(h.samples) >= maxQueueSamples {
		h.samples = append(h.samples[:0], h.samples[1:]...)
	}
	h.samples = append(h.samples, s)
}

func cutText(text string) string {
	if len(text) > maxQueueText {
		return strings.ToValidUTF8(text[:maxQueueText], "") + "…"
	}
	return text
}

type queuePage struct {
	Still   bool
	Problem string
	Facts   []fact // empty without a sample
	Chart   *chart // of the rate; nil without two rates
	Workers []workerRow
	More    int  // workers beyond maxQueueWorkers
	Idle    bool // no worker runs
}

type workerRow struct{ Name, Started, Running, Ended, Rate string }

func (h *queueHistory) page(now time.Time) queuePage {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := queuePage{Problem: h.problem}
	if len(h.samples) == 0 {
		return d
	}
	last := h.samples[len(h.samples)-1]
	d.Facts = last.facts(now)
	if len(h.samples) > 1 {
		d.Chart = rateChart(h.samples)
	}
	for _, w := range last.Workers[:min(len(last.Workers), maxQueueWorkers)] {
		row := workerRow{Name: fetch.Printable(cutText(w.Name)), Running: fmt.Sprint(w.Running),
			Ended: fmt.Sprint(w.Ended), Rate: rateText(w.Rate)}
		if !w.Started.IsZero() {
			row.Started = w.Started.UTC().Format(timeForm)
		}
		d.Workers = append(d.Workers, row)
	}
	d.Idle = last.Workers != nil && len(last.Workers) == 0
	d.More = len(last.Workers) - len(d.Workers)
	return d
}

func (s *QueueSample) facts(now time.Time) []fact {
	rate, remaining := "unknown", "unknown"
	if s.Rate != nil {
		rate = rateText(*s.Rate)
	}
	if s.Remaining != nil {
		remaining = remainingText(*s.Remaining)
	}
	updated := s.Time.UTC().Format(timeForm)
	if age := now.Sub(s.Time).Truncate(time.Second); age > 0 {
		updated += ", " + age.String() + " ago"
	}
	return []fact{
		{Name: "State", Value: s.State},
		{Name: "Waiting", Value: fmt.Sprint(s.Waiting)},
		{Name: "Taken", Value: fmt.Sprint(s.Taken)},
		{Name: "Results", Value: fmt.Sprint(s.Results)},
		{Name: "Dead letters", Value: fmt.Sprint(s.Dead)},
		{Name: "Results per second", Value: rate},
		{Name: "Time left", Value: remaining},
		{Name: "Updated", Value: updated},
	}
}

func rateText(rate float64) string {
	if math.Abs(rate) >= 1e9 {
		return strconv.FormatFloat(rate, 'g', 3, 64)
	}
	return strconv.FormatFloat(rate, 'f', 1, 64)
}

func remainingText(seconds float64) string {
	if seconds >= maxQueueRemaining {
		return "more than a year"
	}
	return (time.Duration(max(seconds, 0)) * time.Second).String()
}

type chart struct {
	Range       string
	First, Last string // times
	Path        string // of SVG
}

// chartWidth and chartHeight are the size of the view box of a chart. The template has them too.
const chartWidth, chartHeight = 600, 100

// rateChart returns the graph of the results per second, or nil if no rate is known. The other numbers
// have no graph: results only rise.
func rateChart(samples []QueueSample) *chart {
	rates, times := make([]float64, len(samples)), make([]time.Time, len(samples))
	for i, s := range samples {
		times[i], rates[i] = s.Time, math.NaN()
		if s.Rate != nil {
			rates[i] = *s.Rate
		}
	}
	known := slices.DeleteFunc(slices.Clone(rates), math.IsNaN)
	if len(known) == 0 {
		return nil
	}
	low, high := min(slices.Min(known), 0), slices.Max(known)
	return &chart{rateText(low) + " to " + rateText(high), times[0].UTC().Format("15:04:05"),
		times[len(times)-1].UTC().Format("15:04:05 UTC"), chartPath(times, rates, low, high)}
}

func chartPath(times []time.Time, values []float64, low, high float64) string {
	first := times[0]
	whole := times[len(times)-1].Sub(first).Seconds()
	var b strings.Builder
	command := "M"
	for i, v := range values {
		if math.IsNaN(v) {
			command = "M"
			continue
		}
		x, y := times[i].Sub(first).Seconds()/whole*chartWidth, float64(chartHeight)
		if high > low {
			y -= (v - low) / (high - low) * chartHeight
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", command, x, y)
		command = "L"
	}
	return b.String()
}

// showQueue serves the page of the queue. It is loaded again every two seconds, unless the user
// stopped that.
func (s *Server) showQueue(w http.ResponseWriter, r *http.Request) {
	if s.Queue == nil {
		http.NotFound(w, r)
		return
	}
	s.queue.start(s.Queue)
	data := s.queue.page(time.Now())
	data.Still = r.URL.Query().Has("still")
	p := s.newPage(w, r, address{})
	p.refresh = !data.Still
	p.begin(http.StatusOK, "Queue")
	p.put("queue", data)
	p.end(nil)
}
