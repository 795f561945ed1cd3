package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

type queuedJob struct {
	ID       string         `json:"id,omitempty"` // of the submission; "" if the message is not a job
	State    string         `json:"state"`        // waiting or taken
	Priority queue.Priority `json:"priority"`
	URL      string         `json:"url,omitempty"` // without the password
	Error    string         `json:"error,omitempty"`

	job     *job.Job // nil if the message is not a job
	message queue.Stored
}

type hostJobs struct {
	Host    string `json:"host"` // "" for URLs without a host
	Waiting uint64 `json:"waiting"`
	Taken   uint64 `json:"taken"`
}

func (a *app) jobsCommand() *cobra.Command {
	var chosen selection
	var asJSON, byHost bool
	cmd := a.engineCommand("jobs", "Print the unfinished jobs", noArguments,
		func(ctx context.Context, e *jetstream.Engine, _ []string) error {
			if byHost {
				return a.jobsByHost(ctx, e, &chosen, asJSON)
			}
			return a.jobs(ctx, e, &chosen, asJSON)
		})
	cmd.Long = `Print the unfinished jobs: those that wait, and those that a worker has taken. A
job that a worker has returned, such as for a retry, counts as taken.`
	cmd.Example = `  urlget queue jobs --host www.example
  urlget queue jobs --by-host`
	chosen.define(cmd.Flags(), "url", "host")
	cmd.Flags().BoolVar(&byHost, "by-host", false, "print only the number of jobs of each host")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return cmd
}

func (a *app) cancelCommand() *cobra.Command {
	var chosen selection
	var moved storeFlags
	cmd := a.engineCommand("cancel [ID...]", "Cancel unfinished jobs, and record that in their results",
		cobra.ArbitraryArgs,
		func(ctx context.Context, e *jetstream.Engine, ids []string) error {
			r, done := moved.results(e)
			defer done()
			return a.cancel(ctx, r, ids, &chosen)
		})
	cmd.Long = `Cancel the unfinished jobs with the IDs, or those that the flags choose. "urlget
queue jobs" prints the IDs. Each job gets the result "skipped" with the reason
"cancelled". A worker that has taken such a job may still transfer it, but the
result remains. The same URL may be submitted again at once.`
	cmd.Example = `  urlget queue cancel 01803a57197044356164064a43e900ea
  urlget queue cancel --host www.example`
	chosen.define(cmd.Flags(), "url", "host")
	moved.defineMoved(cmd.Flags())
	return cmd
}

func unfinished(ctx context.Context, e queue.Admin, chosen *selection) iter.Seq2[*queuedJob, error] {
	return func(yield func(*queuedJob, error) bool) {
		for _, p := range queue.Priorities {
			for m, err := range e.Jobs(ctx, p) {
				if err != nil {
					yield(nil, err)
					return
				}
				j := &queuedJob{State: "waiting", Priority: p, message: m}
				if m.Taken {
					j.State = "taken"
				}
				if id, parsed, err := m.Job(); err == nil {
					j.ID, j.URL, j.job = id, parsed.URL.Redacted(), parsed
				} else {
					j.Error = fetch.Printable(err.Error())
				}
				if (chosen.isZero() || chosen.has(j.URL, "", "", time.Time{})) && !yield(j, nil) {
					return
				}
			}
		}
	}
}

func (a *app) jobs(ctx context.Context, e queue.Admin, chosen *selection, asJSON bool) error {
	for j, err := range unfinished(ctx, e, chosen) {
		switch {
		case err != nil:
			return err
		case asJSON:
			err = render.WriteJSON(a.out, j)
		case j.job == nil:
			_, err = fmt.Fprintf(a.out, "%-32s %-6s %-7s (no job): %s\n", "-", j.Priority, j.State, j.Error)
		default:
			url := fetch.Printable(j.URL)
			_, err = fmt.Fprintf(a.out, "%s %-6s %-7s %s\n", j.ID, j.Priority, j.State, url)
		}
		if err != nil {
			return fileError(err)
		}
	}
	return nil
}

func (a *app) jobsByHost(ctx context.Context, e queue.Admin, chosen *selection, asJSON bool) error {
	hosts := map[string]*hostJobs{}
	for j, err := range unfinished(ctx, e, chosen) {
		if err != nil {
			return err
		}
		if j.job == nil {
			continue
		}
		name := j.job.URL.Host()
		h := hosts[name]
		if h == nil {
			h = &hostJobs{Host: name}
			hosts[name] = h
		}
		if j.message.Taken {
			h.Taken++
		} else {
			h.Waiting++
		}
	}
	list := slices.SortedFunc(maps.Values(hosts), func(x, y *hostJobs) int {
		return cmp.Or(cmp.Compare(y.Waiting+y.Taken, x.Waiting+x.Taken), cmp.Compare(x.Host, y.Host))
	})
	var b bytes.Buffer
	if !asJSON {
		fmt.Fprintf(&b, "%10s %10s  %s\n", "waiting", "taken", "host")
	}
	for _, h := range list {
		if asJSON {
			if err := render.WriteJSON(&b, h); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(&b, "%10d %10d  %s\n", h.Waiting, h.Taken, cmp.Or(fetch.Printable(h.Host), "(none)"))
	}
	_, err := a.out.Write(b.Bytes())
	return fileError(err)
}

func (a *app) cancel(ctx context.Context, r *queue.Results, ids []string, chosen *selection) error {
	switch {
	case len(ids) > 0 && !chosen.isZero():
		return usage("cancel takes IDs or flags that choose, not both")
	case len(ids) == 0 && chosen.isZero():
		return usage("cancel requires IDs, --host or --url; " +
			"\"queue purge jobs\" deletes all jobs without a record")
	}
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	cancelled, finished := 0, 0
	for j, err := range unfinished(ctx, r.Engine.(queue.Admin), chosen) {
		if err != nil {
			return err
		}
		if j.job == nil || len(ids) > 0 && !wanted[j.ID] {
			continue
		}
		wanted[j.ID] = false
		ok, err := r.Cancel(ctx, j.Priority, j.message)
		if err != nil {
			return err
		}
		if ok {
			cancelled++
		} else {
			finished++
		}
	}
	fmt.Fprintf(a.err, "%d cancelled", cancelled)
	if finished > 0 {
		fmt.Fprintf(a.err, ", %d finished before", finished)
	}
	fmt.Fprintln(a.err)
	for id, missing := range wanted {
		if missing {
			return usage("cancel: no unfinished job has the ID %s", fetch.Printable(id))
		}
	}
	return nil
}
