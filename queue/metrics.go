package queue

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch/job"
)

// Metrics counts the operations of a worker. It is safe for concurrent use.
type Metrics struct {
	mu     sync.Mutex
	values map[string]float64 // by name and label set

	running int
	oldest  time.Duration // age of the oldest running job
	trouble error
}

// Counter names without the prefix urlget_.
const (
	countJobs         = "jobs_total"
	countSeconds      = "job_seconds_total"
	countRetries      = "retries_total"
	countLeft         = "links_left_total"
	countTaken        = "taken_total"
	countDead         = "dead_letters_total"
	countDeferred     = "put_off_total"
	countEngineErrors = "engine_errors_total"
	countBytes        = "received_bytes_total"
	countLeases       = "lease_waits_total"
	countLeaseSeconds = "lease_wait_seconds_total"
)

var counters = []struct {
	name, help string
	labels     bool // has labels: any number of series
}{
	{countJobs, "Finished jobs by scheme and outcome or failure class.", true},
	{countSeconds, "Duration of the last attempts of finished jobs.", true},
	{countRetries, "Failures after which a job was queued again.", true},
	{countLeft, "Links that were not followed, by reason.", true},
	{countTaken, "Jobs taken from the queue.", false},
	{countDead, "Jobs that became dead letters.", false},
	{countDeferred, "Jobs returned to the queue because their host was busy.", false},
	{countEngineErrors, "Failed operations of the queue or the store.", false},
	{countBytes, "Bytes of content received.", false},
	{countLeases, "Requests for a host lease.", false},
	{countLeaseSeconds, "Time spent waiting for host leases.", false},
}

// add adds n to a counter. The name may include labels.
func (m *Metrics) add(name string, n float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[string]float64{}
	}
	m.values[name] += n
}

func (m *Metrics) leaseWait(d time.Duration) {
	m.add(countLeases, 1)
	m.add(countLeaseSeconds, d.Seconds())
}

func (m *Metrics) ended(scheme string, r *job.Result) {
	m.add(countJobs+kindOf(scheme, r), 1)
	m.add(countSeconds+kindOf(scheme, r), r.Elapsed.Seconds())
}

func (m *Metrics) retried(scheme string, r *job.Result) { m.add(countRetries+kindOf(scheme, r), 1) }

func (m *Metrics) countUnfollowed(why string) { m.add(fmt.Sprintf("%s{reason=%q}", countLeft, why), 1) }

func kindOf(scheme string, r *job.Result) string {
	class := string(r.Outcome)
	if r.Outcome == job.Failed && r.Class != "" {
		class = string(r.Class)
	}
	return fmt.Sprintf("{scheme=%q,class=%q}", scheme, class)
}

func (m *Metrics) observe(running int, oldest time.Duration, trouble error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running, m.oldest, m.trouble = running, oldest, trouble
}

// Ready returns why the worker starts no jobs although it should, as of a few seconds ago: its store
// failed, Worker.Check returned an error, or all jobs have been running for more than 10 minutes.
func (m *Metrics) Ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trouble
}

func (m *Metrics) gauges() (running int, oldest float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running, m.oldest.Seconds()
}

// Ended returns the number of jobs that have ended with a result.
func (m *Metrics) Ended() (n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, value := range m.values {
		if strings.HasPrefix(name, countJobs) {
			n += uint64(value)
		}
	}
	return n
}

func (m *Metrics) lines(name string, labels bool) (lines []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !labels {
		return []string{name + " " + strconv.FormatFloat(m.values[name], 'f', -1, 64)}
	}
	for series, value := range m.values {
		if strings.HasPrefix(series, name+"{") {
			lines = append(lines, series+" "+strconv.FormatFloat(value, 'f', -1, 64))
		}
	}
	slices.Sort(lines)
	return lines
}

// WriteText writes the metrics in the Prometheus text format, version 0.0.4. Status may be nil.
func (m *Metrics) WriteText(w io.Writer, s *Status) error {
	var b strings.Builder
	family := func(name, kind, help string, lines ...string) {
		fmt.Fprintf(&b, "# HELP urlget_%s %s\n# TYPE urlget_%[1]s %[3]s\n", name, help, kind)
		for _, line := range lines {
			fmt.Fprintf(&b, "urlget_%s\n", line)
		}
	}
	for _, c := range counters {
		// only crawls follow links
		if lines := m.lines(c.name, c.labels); len(lines) > 0 || c.name != countLeft {
			family(c.name, "counter", c.help, lines...)
		}
	}
	running, oldest := m.gauges()
	family("running_jobs", "gauge", "Jobs in execution.", fmt.Sprint("running_jobs ", running))
	family("oldest_job_seconds", "gauge", "Age of the job that has been running for longest.",
		fmt.Sprint("oldest_job_seconds ", oldest))
	if s != nil {
		var jobs []string
		for _, p := range Priorities {
			jobs = append(jobs, fmt.Sprintf("queue_jobs{priority=%q,state=\"waiting\"} %d", p, s.Waiting[p]),
				fmt.Sprintf("queue_jobs{priority=%q,state=\"taken\"} %d", p, s.Taken[p]))
		}
		family("queue_jobs", "gauge", "Jobs in the queue.", jobs...)
		family("queue_results", "gauge", "Results in the queue.", fmt.Sprint("queue_results ", s.Results))
		family("queue_dead_letters", "gauge", "Dead letters in the queue.",
			fmt.Sprint("queue_dead_letters ", s.Dead))
		family("queue_bytes", "gauge", "Bytes of all messages in the queue.",
			fmt.Sprint("queue_bytes ", s.Bytes))
		family("queue_replicas_missing", "gauge", "Replicas of the queue that are offline or lagging.",
			fmt.Sprint("queue_replicas_missing ", s.Missing))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
