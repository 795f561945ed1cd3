package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/retry"
)

// A WorkerReport is what a running worker reports about itself every few seconds. It has no URLs
// and no secrets.
type WorkerReport struct {
	Name     string    `json:"name"` // not unique
	Started  time.Time `json:"started"`
	Running  int       `json:"running"`  // jobs in execution
	Ended    uint64    `json:"ended"`    // jobs that ended with a result since the start
	Rate     float64   `json:"rate"`     // results per second since the previous report
	Parallel int       `json:"parallel"` // limit of Running, except for jobs that store results
	// Oldest is the age in seconds of the job that has been running for longest.
	Oldest float64 `json:"oldest,omitempty"`
	// starts no jobs: the queue is paused, or the crawl does not exist
	Paused bool `json:"paused,omitempty"`
	// Trouble is why the worker starts no jobs, such as a full disk.
	Trouble string `json:"trouble,omitempty"`
}

const (
	// reportInterval is the maximum interval between reports of a worker.
	reportInterval = 5 * time.Second
	// MaxWorkers is the maximum number of reports that are read.
	MaxWorkers = 1000
	// maxReport is the maximum size of a report in bytes, and maxReportName that of the name in it.
	maxReport     = 4 << 10
	maxReportName = 200
	maxTrouble    = 500
)

// ListWorkers returns the reports of the workers that run now, by name. It reads at most MaxWorkers,
// and skips messages that are not reports. Workers of versions without reports are not listed. The
// result is not nil unless there is an error.
func ListWorkers(ctx context.Context, e Admin) ([]WorkerReport, error) {
	list, n := []WorkerReport{}, 0
	for m, err := range e.Workers(ctx) {
		if err != nil {
			return nil, err
		}
		if r, err := decodeReport(m.Data); err == nil {
			list = append(list, *r)
		}
		if n++; n == MaxWorkers {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b WorkerReport) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Started.Compare(b.Started))
	})
	return list, nil
}

// decodeReport decodes a report, which another user may have written.
func decodeReport(data []byte) (*WorkerReport, error) {
	r := &WorkerReport{}
	if len(data) > maxReport {
		return nil, errors.New("the report of a worker is too long")
	}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	if r.Name == "" || r.Started.IsZero() || r.Running < 0 || r.Rate < 0 || r.Parallel < 0 ||
		r.Oldest < 0 {
		return nil, errors.New("the report of a worker has an invalid field")
	}
	return r, nil
}

// report reports the state of the worker until ctx ends. Reports that fail are not repeated; the
// next one replaces them.
func (r *run) report(ctx context.Context, id string) {
	every := min(reportInterval, r.Engine.Limits().LeaseTTL/3)
	report := WorkerReport{Name: strings.ToValidUTF8(r.Name[:min(len(r.Name), maxReportName)], ""),
		Started: time.Now().UTC(), Parallel: r.Parallel}
	endedBefore := r.Metrics.Ended() // by another call of Run with the same Metrics
	for last := report.Started; ; {
		now := time.Now()
		ended := r.Metrics.Ended() - endedBefore
		if elapsed := now.Sub(last); elapsed > 0 {
			report.Rate = math.Round(100*float64(ended-report.Ended)/elapsed.Seconds()) / 100
		}
		last = now
		report.Ended, report.Paused = ended, r.waiting.Load()
		r.measure(ctx, &report, now)
		report.Trouble = strings.ToValidUTF8(report.Trouble[:min(len(report.Trouble), maxTrouble)], "")
		short, cancel := context.WithTimeout(ctx, every)
		data, err := json.Marshal(report)
		if err == nil {
			err = r.Engine.PutWorker(short, id, data)
		}
		if err != nil && ctx.Err() == nil {
			r.Logger.Debug("cannot report the state of the worker", "error", err)
		}
		cancel()
		if retry.Sleep(ctx, every) != nil {
			return
		}
	}
}
