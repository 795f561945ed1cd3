package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/render"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

type watchFlags struct {
	interval           time.Duration
	untilEmpty, asJSON bool
}

// A sample is the state of a queue at a time. It is a line of queue watch --json.
type sample struct {
	Time    time.Time `json:"time"`
	State   string    `json:"state"`
	Waiting uint64    `json:"waiting"`
	Taken   uint64    `json:"taken"`
	Results uint64    `json:"results"`
	Dead    uint64    `json:"dead"`
	// Rate is the number of results per second since the last sample. Remaining is the time in
	// seconds until all jobs have ended at that rate. Both are nil if they are not known.
	Rate      *float64 `json:"rate,omitempty"`
	Remaining *float64 `json:"remaining,omitempty"`
	// Workers is nil if the user may not read the reports of workers.
	Workers []queue.WorkerReport `json:"workers,omitzero"`
}

func (a *app) watchCommand() *cobra.Command {
	w := &watchFlags{}
	cmd := a.engineCommand("watch", "Print the progress of the queue until a signal", noArguments,
		func(ctx context.Context, e *jetstream.Engine, _ []string) error {
			if w.interval <= 0 {
				return usage("--interval must be more than 0")
			}
			return a.watch(ctx, e, w)
		})
	cmd.Long = `Print a line with the state of the queue or, with --crawl NAME, of the crawl at
each interval: the number of jobs, results, dead letters and workers, the
results per second, and the time until all jobs have ended at that rate. The
links that a crawl will find and jobs that wait for a retry may take longer.`
	cmd.Flags().DurationVar(&w.interval, "interval", 2*time.Second, "print a line every `TIME`")
	cmd.Flags().BoolVar(&w.untilEmpty, "until-empty", false,
		"exit when the queue is empty and no worker has a job")
	cmd.Flags().BoolVar(&w.asJSON, "json", false, "print JSON Lines")
	return cmd
}

// watch prints samples until ctx ends. It retries while the servers do not respond, except for the
// first sample.
func (a *app) watch(ctx context.Context, e queue.Admin, w *watchFlags) error {
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	var last *sample
	for {
		s, err := a.sample(ctx, e, last)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (last == nil || !isRetryable(err)):
			return err
		case err != nil:
			fmt.Fprintf(a.err, "urlget: %s\n", render.ErrorText(err))
		default:
			if err := a.printSample(s, last == nil, w.asJSON); err != nil {
				return fileError(err)
			}
			if w.untilEmpty && s.Waiting+s.Taken == 0 {
				return nil
			}
			last = s
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func isRetryable(err error) bool {
	var e *fetch.Error
	return errors.As(err, &e) && e.Retry || errors.Is(err, context.DeadlineExceeded)
}

// sample returns the current state. It computes the rate since last, which may be nil.
func (a *app) sample(ctx context.Context, e queue.Admin, last *sample) (*sample, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	status, state, err := statusOf(ctx, e)
	if err != nil {
		return nil, err
	}
	workers, err := queue.ListWorkers(ctx, e)
	if err != nil && fetch.CodeOf(err) != fetch.ErrRefused {
		return nil, err
	}
	s := &sample{
		Time: time.Now(), State: stateWord(state, status.Depth(), a.queueFlags.crawl != ""),
		Results: status.Results, Dead: status.Dead, Workers: workers,
	}
	for _, p := range queue.Priorities {
		s.Waiting += status.Waiting[p]
		s.Taken += status.Taken[p]
	}
	purged := last != nil && s.Results < last.Results
	if last == nil || purged || !s.Time.After(last.Time) {
		return s, nil
	}
	rate := float64(s.Results-last.Results) / s.Time.Sub(last.Time).Seconds()
	s.Rate = &rate
	if rate > 0 {
		remaining := math.Round(float64(s.Waiting+s.Taken) / rate)
		s.Remaining = &remaining
	}
	return s, nil
}

func (a *app) printSample(s *sample, first, asJSON bool) error {
	if asJSON {
		return render.WriteJSON(a.out, s)
	}
	if first {
		_, err := fmt.Fprintf(a.out, "%-8s %-8s %9s %9s %9s %7s %7s %9s  %s\n", "time", "state", "waiting",
			"taken", "results", "dead", "workers", "per s", "remaining")
		if err != nil {
			return err
		}
	}
	rate, remaining, workers := "", "", ""
	if s.Workers != nil {
		workers = strconv.Itoa(len(s.Workers))
	}
	if s.Rate != nil {
		rate = fmt.Sprintf("%.1f", *s.Rate)
	}
	if s.Remaining != nil {
		remaining = (time.Duration(*s.Remaining) * time.Second).String()
	}
	_, err := fmt.Fprintf(a.out, "%-8s %-8s %9d %9d %9d %7d %7s %9s  %s\n",
		s.Time.Format(time.TimeOnly), s.State, s.Waiting, s.Taken, s.Results, s.Dead,
		cmp.Or(workers, "-"), cmp.Or(rate, "-"), cmp.Or(remaining, "-"))
	return err
}
