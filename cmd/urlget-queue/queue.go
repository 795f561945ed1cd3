package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

func (a *app) queueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "What is in a queue",
		Long: `What is in a queue, or with --crawl NAME in that of a crawl.

  urlget queue status            how much there is, and how a crawl is
  urlget queue results [-f]      how jobs and visits ended, as JSON Lines
  urlget queue dead              what could not be done
  urlget queue retry [ID...]     submit that again
  urlget queue purge KIND        forget jobs, results, dead letters or a crawl
  urlget queue crawls            the names of crawls
  urlget queue stop              let workers begin nothing more of a crawl
  urlget queue resume            let them go on
  urlget queue index DIR         one index for the archives of all workers
  urlget queue content SHA256    print a content that is kept`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("queue: there is no %q; want status, results, dead, retry, purge, crawls, stop, resume, index or content", args[0])
			}
			return usage("queue: want status, results, dead, retry, purge, crawls, stop, resume, index or content")
		},
	}
	with := func(do func(context.Context, *jetstream.Engine, []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			a.reach.existing = true
			e, done, err := a.reach.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer done()
			return do(cmd.Context(), e, args)
		}
	}
	var asJSON, follow bool
	var after uint64
	status := &cobra.Command{Use: "status", Short: "Print how much is in the queue", Args: noArguments,
		RunE: with(func(ctx context.Context, e *jetstream.Engine, _ []string) error { return a.status(ctx, e, asJSON) })}
	results := &cobra.Command{Use: "results", Short: "Print how jobs ended, as JSON Lines", Args: noArguments,
		RunE: with(func(ctx context.Context, e *jetstream.Engine, _ []string) error {
			return a.results(ctx, e, after, follow)
		})}
	dead := &cobra.Command{Use: "dead", Short: "Print the dead letters: jobs that could not be done", Args: noArguments,
		RunE: with(func(ctx context.Context, e *jetstream.Engine, _ []string) error { return a.dead(ctx, e, asJSON) })}
	retry := &cobra.Command{Use: "retry [ID...]", Short: "Submit dead letters again, all or those with these IDs", RunE: with(a.retry)}
	ofCrawl := func(cmd *cobra.Command, args []string) error {
		if a.reach.crawl == "" {
			return usage("%s: which crawl? It needs --crawl NAME", cmd.Name())
		}
		return noArguments(cmd, args)
	}
	crawls := &cobra.Command{Use: "crawls", Short: "Print the names of the crawls", Args: noArguments,
		RunE: with(func(ctx context.Context, e *jetstream.Engine, _ []string) error { return a.crawls(ctx, e) })}
	stop := &cobra.Command{Use: "stop --crawl NAME", Short: "Let workers begin nothing more of a crawl", Args: ofCrawl,
		RunE: with(func(ctx context.Context, e *jetstream.Engine, _ []string) error { return a.stop(ctx, e, true) })}
	resume := &cobra.Command{Use: "resume --crawl NAME", Short: "Let workers go on with a crawl", Args: ofCrawl,
		RunE: with(func(ctx context.Context, e *jetstream.Engine, _ []string) error { return a.stop(ctx, e, false) })}
	index := &cobra.Command{Use: "index DIR", Short: "Write one index (CDXJ) of the archives of all workers",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("index: want the directory of the archives")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.index(args[0]) }}
	kinds := []string{string(queue.KindJobs), string(queue.KindResults), string(queue.KindDead), "crawl"}
	purge := &cobra.Command{Use: "purge jobs|results|dead|crawl", Short: "Forget what is in the queue, of one kind, or a crawl",
		ValidArgsFunction: cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(kinds, args[0]) {
				return usage("purge: want one of jobs, results, dead and crawl")
			}
			if args[0] == "crawl" && a.reach.crawl == "" {
				return usage("purge crawl: which one? It needs --crawl NAME")
			}
			return nil
		},
		RunE: with(func(ctx context.Context, e *jetstream.Engine, args []string) error {
			if args[0] == "crawl" {
				return e.Forget(ctx)
			}
			n, err := e.Purge(ctx, queue.Kind(args[0]))
			if err == nil {
				fmt.Fprintf(a.err, "%d %s forgotten\n", n, args[0])
			}
			return err
		})}
	for _, c := range []*cobra.Command{status, results, dead, retry, purge, crawls, stop, resume} {
		a.reach.define(c.Flags())
		cmd.AddCommand(c)
	}
	cmd.AddCommand(index, a.contentCommand())
	status.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	dead.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	results.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	results.Flags().Uint64Var(&after, "after", 0, "begin after the result with this `SEQUENCE`")
	return cmd
}

func (a *app) status(ctx context.Context, e *jetstream.Engine, asJSON bool) error {
	s, err := e.Status(ctx)
	if err != nil {
		return err
	}
	word := ""
	if a.reach.crawl != "" {
		c, err := queue.LoadCrawl(ctx, e)
		if err != nil {
			return err
		}
		word = state(c, s)
	}
	if asJSON {
		return fileError(render.WriteJSON(a.out, struct {
			Crawl string `json:"crawl,omitempty"`
			State string `json:"state,omitempty"`
			*queue.Status
		}{a.reach.crawl, word, s}))
	}
	var b bytes.Buffer
	if word != "" {
		fmt.Fprintf(&b, "%s: %s, %d visits have ended, %d pages are to be visited\n", a.reach.crawl, word, s.Results, s.Depth())
	}
	fmt.Fprintf(&b, "%-8s %10s %10s\n", "priority", "waiting", "taken")
	for _, p := range queue.Priorities {
		fmt.Fprintf(&b, "%-8s %10d %10d\n", p, s.Waiting[p], s.Taken[p])
	}
	fmt.Fprintf(&b, "%d results, %d dead letters, %d bytes, on %s", s.Results, s.Dead, s.Bytes, fetch.Printable(s.Server))
	if s.Replicas > 1 {
		fmt.Fprintf(&b, ", %d replicas, %d missing", s.Replicas, s.Missing)
	}
	b.WriteByte('\n')
	_, err = a.out.Write(b.Bytes())
	return fileError(err)
}

// results prints events. Each gets its sequence number, by which a program goes on later.
func (a *app) results(ctx context.Context, e *jetstream.Engine, after uint64, follow bool) error {
	for r, err := range e.Results(ctx, after, follow) {
		if err != nil {
			return err
		}
		line, ok := bytes.CutPrefix(bytes.TrimSpace(r.Data), []byte("{"))
		all := fmt.Appendf(nil, "{\"sequence\":%d,%s", r.Sequence, line)
		if !ok || !json.Valid(all) {
			continue // no worker wrote it
		}
		if err := render.WriteJSON(a.out, json.RawMessage(all)); err != nil {
			return fileError(err)
		}
	}
	return nil
}

func (a *app) dead(ctx context.Context, e *jetstream.Engine, asJSON bool) error {
	for d, err := range e.Dead(ctx, 0) {
		if err != nil {
			return err
		}
		var l queue.Letter
		if err := json.Unmarshal(d.Data, &l); err != nil {
			l.Error = "no dead letter: " + err.Error()
		}
		if asJSON {
			l.Job, l.Raw = nil, nil // which may hold secrets
			err = render.WriteJSON(a.out, struct {
				ID string `json:"id"`
				queue.Letter
			}{d.ID, l})
		} else {
			url := l.URL
			if url == "" {
				url = "(no job)"
			}
			_, err = fmt.Fprintf(a.out, "%s %s %s: %s\n", fetch.Printable(d.ID), l.Time.Format(time.RFC3339), fetch.Printable(url), fetch.Printable(l.Error))
		}
		if err != nil {
			return fileError(err)
		}
	}
	return nil
}

func (a *app) retry(ctx context.Context, e *jetstream.Engine, ids []string) error {
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
		if _, err := queue.Retry(ctx, e, d.Data); err != nil {
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
		return usage("retry: there is no dead letter %s", fetch.Printable(id))
	}
	if left > 0 {
		return &toldError{status: 1}
	}
	return nil
}
