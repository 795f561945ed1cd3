package queue

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch/job"
)

// Metrics count what a worker does. They may be read at any time.
type Metrics struct {
	mu      sync.Mutex
	jobs    map[jobKind]*jobCount
	retries map[jobKind]uint64
	leaves  map[string]uint64
	counts  [numCounts]float64
}

// A jobKind is what jobs are counted by.
type jobKind struct{ scheme, class string }

type jobCount struct {
	n       uint64
	seconds float64
}

const (
	countTaken = iota
	countDead
	countPutOff
	countTrouble
	countBytes
	countLeases
	countLeaseSeconds
	numCounts
)

func (m *Metrics) add(what int, n float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what] += n
}

func (m *Metrics) taken()         { m.add(countTaken, 1) }
func (m *Metrics) buried()        { m.add(countDead, 1) }
func (m *Metrics) putOff()        { m.add(countPutOff, 1) }
func (m *Metrics) trouble()       { m.add(countTrouble, 1) }
func (m *Metrics) received(n int) { m.add(countBytes, float64(n)) }

func (m *Metrics) leaseWait(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[countLeases]++
	m.counts[countLeaseSeconds] += d.Seconds()
}

func kindOf(scheme string, r *job.Result) jobKind {
	class := string(r.Outcome)
	if r.Outcome == job.Failed && r.Class != "" {
		class = string(r.Class)
	}
	return jobKind{scheme, class}
}

func (m *Metrics) ended(scheme string, r *job.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs == nil {
		m.jobs = map[jobKind]*jobCount{}
	}
	c := m.jobs[kindOf(scheme, r)]
	if c == nil {
		c = &jobCount{}
		m.jobs[kindOf(scheme, r)] = c
	}
	c.n++
	c.seconds += r.Elapsed.Seconds()
}

func (m *Metrics) retried(scheme string, r *job.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retries == nil {
		m.retries = map[jobKind]uint64{}
	}
	m.retries[kindOf(scheme, r)]++
}

// left counts a link that was not followed.
func (m *Metrics) left(why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leaves == nil {
		m.leaves = map[string]uint64{}
	}
	m.leaves[why]++
}

// Ended returns how many jobs have ended with a result.
func (m *Metrics) Ended() (n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.jobs {
		n += c.n
	}
	return n
}

// WriteTo writes the metrics in the text format of Prometheus, version 0.0.4. Status may be nil.
func (m *Metrics) WriteText(w io.Writer, s *Status) error {
	var b strings.Builder
	family := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP urlget_%s %s\n# TYPE urlget_%s %s\n", name, help, name, kind)
	}
	m.mu.Lock()
	kinds := slices.SortedFunc(maps.Keys(m.jobs), compareKinds)
	family("jobs_total", "counter", "Jobs that ended, by scheme and by outcome or class of failure.")
	for _, k := range kinds {
		fmt.Fprintf(&b, "urlget_jobs_total{scheme=%q,class=%q} %d\n", k.scheme, k.class, m.jobs[k].n)
	}
	family("job_seconds_total", "counter", "Time that the last attempts of these jobs took.")
	for _, k := range kinds {
		fmt.Fprintf(&b, "urlget_job_seconds_total{scheme=%q,class=%q} %g\n", k.scheme, k.class, m.jobs[k].seconds)
	}
	family("retries_total", "counter", "Failures after which a job was put back to be tried again.")
	for _, k := range slices.SortedFunc(maps.Keys(m.retries), compareKinds) {
		fmt.Fprintf(&b, "urlget_retries_total{scheme=%q,class=%q} %d\n", k.scheme, k.class, m.retries[k])
	}
	if len(m.leaves) > 0 {
		family("links_left_total", "counter", "Links of pages that were not followed, by why.")
		for _, why := range slices.Sorted(maps.Keys(m.leaves)) {
			fmt.Fprintf(&b, "urlget_links_left_total{reason=%q} %d\n", why, m.leaves[why])
		}
	}
	for i, c := range []struct{ name, help string }{
		countTaken:        {"taken_total", "Jobs that were taken from the queue."},
		countDead:         {"dead_letters_total", "Jobs that became dead letters."},
		countPutOff:       {"put_off_total", "Jobs that went back to the queue as their host had enough to do."},
		countTrouble:      {"engine_errors_total", "What failed at the queue or at the store of contents."},
		countBytes:        {"received_bytes_total", "Bytes of content that were received."},
		countLeases:       {"lease_waits_total", "Times that a place at a host was asked for."},
		countLeaseSeconds: {"lease_wait_seconds_total", "Time that was waited for places at hosts."},
	} {
		family(c.name, "counter", c.help)
		fmt.Fprintf(&b, "urlget_%s %g\n", c.name, m.counts[i])
	}
	m.mu.Unlock()
	if s != nil {
		family("queue_jobs", "gauge", "Jobs in the queue.")
		for _, p := range Priorities {
			fmt.Fprintf(&b, "urlget_queue_jobs{priority=%q,state=\"waiting\"} %d\n", p, s.Waiting[p])
			fmt.Fprintf(&b, "urlget_queue_jobs{priority=%q,state=\"taken\"} %d\n", p, s.Taken[p])
		}
		family("queue_results", "gauge", "Results in the queue.")
		fmt.Fprintf(&b, "urlget_queue_results %d\n", s.Results)
		family("queue_dead_letters", "gauge", "Dead letters in the queue.")
		fmt.Fprintf(&b, "urlget_queue_dead_letters %d\n", s.Dead)
		family("queue_bytes", "gauge", "Bytes of all messages in the queue.")
		fmt.Fprintf(&b, "urlget_queue_bytes %d\n", s.Bytes)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func compareKinds(a, b jobKind) int {
	return strings.Compare(a.scheme+" "+a.class, b.scheme+" "+b.class)
}
