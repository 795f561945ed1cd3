package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/render"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

func (a *app) queueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Inspect and manage a queue",
		Long:  "Inspect and manage a queue or, with --crawl NAME, the queue of a crawl.",
		Example: `  urlget queue status --nats nats://queue.example
  urlget queue results -f --embedded ~/queue
  urlget queue retry`,
		RunE: func(_ *cobra.Command, args []string) error {
			const commands = "status, watch, workers, jobs, results, audit, dead, retry, cancel, pause, " +
				"resume, drain, limits, compact, purge, crawls, create, index or content"
			if len(args) > 0 {
				return usage("queue: unknown command %q; use %s", args[0], commands)
			}
			return usage("queue requires a command: %s", commands)
		},
	}
	var asJSON, follow bool
	var after uint64
	status := a.engineCommand("status", "Print the number of jobs in the queue", noArguments,
		func(ctx context.Context, e *jetstream.Engine, _ []string) error { return a.status(ctx, e, asJSON) })
	status.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	var chosen, buried, again selection
	var moved storeFlags
	results := a.engineCommand("results", "Print the results of jobs, as JSON Lines", noArguments,
		func(ctx context.Context, e *jetstream.Engine, _ []string) error {
			r, done := moved.results(e)
			defer done()
			return a.results(ctx, r, after, follow, &chosen)
		})
	moved.defineMoved(results.Flags())
	chosen.define(results.Flags(), "url", "host", "class", "worker", "since")
	results.Flags().BoolVarP(&follow, "follow", "f", false, "wait for further results")
	results.Flags().Uint64Var(&after, "after", 0, "start after the result with the number `SEQUENCE`")
	dead := a.engineCommand("dead", "Print the dead letters: jobs that failed for good", noArguments,
		func(ctx context.Context, e *jetstream.Engine, _ []string) error {
			return a.dead(ctx, e, asJSON, &buried)
		})
	buried.define(dead.Flags(), "url", "host", "class", "since")
	retry := a.engineCommand("retry [ID...]", "Submit dead letters again: all, or those that are chosen",
		cobra.ArbitraryArgs,
		func(ctx context.Context, e *jetstream.Engine, ids []string) error {
			return a.retry(ctx, e, ids, &again)
		})
	again.define(retry.Flags(), "url", "host", "class", "since")
	dead.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	cmd.AddCommand(status, results, dead, a.compactCommand(), a.purgeCommand(), a.contentCommand(),
		a.auditCommand(), retry, a.createCommand(), a.jobsCommand(), a.cancelCommand(), a.watchCommand(),
		a.workersCommand(), a.limitsCommand(), a.crawlsCommand(),
		&cobra.Command{Use: "index DIR", Short: "Write one CDXJ index of the archives of all workers",
			Args: oneArgument("index requires the directory of the archives"),
			RunE: func(_ *cobra.Command, args []string) error { return a.index(args[0]) }})
	cmd.AddCommand(a.stateCommands()...)
	return cmd
}

// createCommand returns the command that creates a queue. Other commands of "queue" require that it exists.
func (a *app) createCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create", Short: "Create an empty queue", Args: noArguments,
		Long: "Create an empty queue, as the first submission or worker would. An existing\n" +
			"queue is not changed.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.queueFlags.crawl != "" {
				return usage("queue create cannot be combined with --crawl: submit starts a crawl")
			}
			e, done, err := a.queueFlags.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer done()
			s, err := e.Status(cmd.Context())
			if err == nil {
				fmt.Fprintf(a.err, "the queue %s is kept on %d servers\n", a.queueFlags.name, s.Replicas)
			}
			return err
		},
	}
	a.queueFlags.define(cmd.Flags())
	return cmd
}

func (a *app) engineCommand(
	use, short string, args cobra.PositionalArgs,
	do func(context.Context, *jetstream.Engine, []string) error,
) *cobra.Command {
	run := func(cmd *cobra.Command, args []string) error {
		a.queueFlags.mustExist = true
		e, done, err := a.queueFlags.open(cmd.Context(), nil)
		if err != nil {
			return err
		}
		defer done()
		return do(cmd.Context(), e, args)
	}
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: run}
	a.queueFlags.define(cmd.Flags())
	return cmd
}

var purges = map[string]func(*jetstream.Engine, context.Context) (uint64, error){
	"jobs":    (*jetstream.Engine).PurgeJobs,
	"results": purgeResults,
	"dead":    (*jetstream.Engine).PurgeDead,
}

// purgeResults deletes the results of the queue and those in segments. The contents of the segments remain,
// and no result names them.
func purgeResults(e *jetstream.Engine, ctx context.Context) (n uint64, err error) {
	s, err := e.Status(ctx)
	if err != nil {
		return 0, err
	}
	_, revision, err := e.Segments(ctx)
	if err == nil && revision > 0 {
		_, err = e.SetSegments(ctx, nil, revision)
	}
	if err == nil {
		_, err = e.PurgeResults(ctx)
	}
	return s.Results, err
}

func (a *app) purgeCommand() *cobra.Command {
	cmd := a.engineCommand("purge jobs|results|dead|crawl",
		"Delete all jobs, results or dead letters, or a crawl",
		func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "crawl" && purges[args[0]] == nil {
				return usage("purge requires one of jobs, results, dead and crawl")
			}
			if args[0] == "crawl" && a.queueFlags.crawl == "" {
				return usage("purge crawl requires --crawl NAME")
			}
			return nil
		},
		func(ctx context.Context, e *jetstream.Engine, args []string) error {
			if args[0] == "crawl" {
				return e.Forget(ctx)
			}
			n, err := purges[args[0]](e, ctx)
			if err == nil {
				fmt.Fprintf(a.err, "%d %s deleted\n", n, args[0])
			}
			return err
		})
	kinds := []string{"jobs", "results", "dead", "crawl"}
	cmd.ValidArgsFunction = cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

func statusOf(ctx context.Context, e queue.Admin) (s *queue.Status, state queue.State, err error) {
	if s, err = e.Status(ctx); err == nil {
		state, err = e.State(ctx)
	}
	return s, state, err
}

func (a *app) status(ctx context.Context, e *jetstream.Engine, asJSON bool) error {
	s, state, err := statusOf(ctx, e)
	if err != nil {
		return err
	}
	name := a.queueFlags.crawl
	if name != "" {
		if _, err := queue.LoadCrawl(ctx, e); err != nil {
			return err
		}
	}
	word := stateWord(state, s.Depth(), name != "")
	if asJSON {
		return fileError(render.WriteJSON(a.out, struct {
			Crawl string `json:"crawl,omitempty"`
			State string `json:"state"`
			*queue.Status
		}{name, word, s}))
	}
	var b bytes.Buffer
	switch {
	case name != "":
		fmt.Fprintf(&b, "%s: %s, %d pages visited, %d pages left\n", name, word, s.Results, s.Depth())
	case word == "drained":
		fmt.Fprintln(&b, "drained: submissions are refused, and no jobs are left")
	case state != queue.Running:
		fmt.Fprintln(&b, stateEffects[state])
	}
	fmt.Fprintf(&b, "%-8s %10s %10s\n", "priority", "waiting", "taken")
	for _, p := range queue.Priorities {
		fmt.Fprintf(&b, "%-8s %10d %10d\n", p, s.Waiting[p], s.Taken[p])
	}
	server := fetch.Printable(s.Server)
	fmt.Fprintf(&b, "%d results, %d dead letters, %d bytes, on %s", s.Results, s.Dead, s.Bytes, server)
	if s.Replicas > 1 {
		fmt.Fprintf(&b, ", %d replicas, %d missing", s.Replicas, s.Missing)
	}
	b.WriteByte('\n')
	if len(s.Absent) > 0 {
		fmt.Fprintf(&b, "missing: %s; start these servers, or start them again if they run: "+
			"after a full disk, NATS leaves the queue off until then\n",
			fetch.Printable(strings.Join(s.Absent, ", ")))
	}
	_, err = a.out.Write(b.Bytes())
	return fileError(err)
}

// results prints events. Each gets its sequence number, which --after accepts.
func (a *app) results(
	ctx context.Context, from *queue.Results, after uint64, follow bool, chosen *selection,
) error {
	if err := chosen.check(); err != nil {
		return err
	}
	for r, err := range from.All(ctx, after, follow) {
		if err != nil {
			return err
		}
		line, ok := bytes.CutPrefix(bytes.TrimSpace(r.Data), []byte("{"))
		all := fmt.Appendf(nil, "{\"sequence\":%d,%s", r.Sequence, line)
		if !ok || !json.Valid(all) {
			continue // not written by a worker
		}
		if !chosen.isZero() {
			var ev queue.Event
			if json.Unmarshal(all, &ev) != nil {
				continue
			}
			if at, _ := time.Parse(time.RFC3339, ev.Time); !chosen.has(ev.URL, ev.Class, ev.Worker, at) {
				continue
			}
		}
		if err := render.WriteJSON(a.out, json.RawMessage(all)); err != nil {
			return fileError(err)
		}
	}
	return nil
}

func (a *app) dead(ctx context.Context, e *jetstream.Engine, asJSON bool, chosen *selection) error {
	if err := chosen.check(); err != nil {
		return err
	}
	for d, err := range e.Dead(ctx, 0) {
		if err != nil {
			return err
		}
		l, err := d.Letter()
		if err != nil {
			l = &queue.Letter{Error: err.Error()}
		}
		if !chosen.has(l.URL, l.Class, "", l.Time) {
			continue
		}
		if asJSON {
			l.Job, l.Raw = nil, nil // they may contain secrets
			err = render.WriteJSON(a.out, struct {
				ID string `json:"id"`
				*queue.Letter
			}{d.ID, l})
		} else {
			_, err = fmt.Fprintf(a.out, "%s %s %s: %s\n", fetch.Printable(d.ID), l.Time.Format(time.RFC3339),
				fetch.Printable(cmp.Or(l.URL, "(no job)")), fetch.Printable(l.Error))
		}
		if err != nil {
			return fileError(err)
		}
	}
	return nil
}

func (a *app) retry(ctx context.Context, e *jetstream.Engine, ids []string, chosen *selection) error {
	if err := chosen.check(); err != nil {
		return err
	}
	if len(ids) > 0 && !chosen.isZero() {
		return usage("retry takes IDs or flags that choose, not both")
	}
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	n, left := 0, 0
	for d, err := range e.Dead(ctx, 0) {
		if err != nil {
			return err
		}
		if len(ids) > 0 && !wanted[d.ID] {
			continue
		}
		delete(wanted, d.ID)
		l, err := d.Letter()
		if err == nil && !chosen.has(l.URL, l.Class, "", l.Time) || err != nil && !chosen.isZero() {
			continue
		}
		if err == nil {
			err = l.Retry(ctx, e)
		}
		if err != nil {
			if class := fetch.CodeOf(err); class != "" && class != fetch.ErrRequest && class != fetch.ErrURL {
				return err
			}
			left++
			fmt.Fprintf(a.err, "urlget: %s: %s\n", d.ID, fetch.Printable(err.Error()))
			continue
		}
		if err := e.DropDead(ctx, d.Sequence); err != nil {
			return err
		}
		n++
	}
	fmt.Fprintf(a.err, "%d submitted again\n", n)
	for id := range wanted {
		return usage("retry: no dead letter has the ID %s", fetch.Printable(id))
	}
	if left > 0 {
		return &printedError{status: 1}
	}
	return nil
}
