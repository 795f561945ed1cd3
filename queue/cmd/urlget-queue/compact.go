package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

const (
	// settleTime is how long results stay in the servers after their segment is listed. Servers write to disk
	// every two minutes by default, and an embedded one every two seconds.
	settleTime         = 5 * time.Minute
	embeddedSettleTime = 5 * time.Second
)

type compactFlags struct {
	older  age
	dryRun bool
	store  storeFlags
}

func (a *app) compactCommand() *cobra.Command {
	o := &compactFlags{older: age(24 * time.Hour)}
	cmd := a.engineCommand("compact", "Move old results from the servers to the store", noArguments,
		func(ctx context.Context, e *jetstream.Engine, _ []string) error { return a.compact(ctx, e, o) })
	cmd.Long = `Move old results from the servers to segments in the store, where they need no
memory. Commands that read results then need --artefacts with this store. A
segment has 10,000 to 1,048,576 results; fewer remain in the servers.

With --crawl, the known pages of the crawl are moved, too, if there are 10,000
or more. Workers and "queue submit" then look for pages in the store.

Results and pages are removed from the servers five minutes after they are in
the store, or five seconds with --embedded. If the command ends before that,
the next one removes them. Moved results do not expire. Update all workers
before the first use: earlier versions do not find what was moved.`
	cmd.Example = `  urlget queue compact --older-than 7d --artefacts s3://bucket/site
  urlget queue compact --dry-run`
	f := cmd.Flags()
	f.Var(&o.older, "older-than", "move results that are older than `AGE`, such as 12h or 7d; at least 2h")
	f.BoolVar(&o.dryRun, "dry-run", false, "only print how many results would be moved")
	o.store.define(f)
	f.Lookup("artefacts").Usage = "move results to `DIR`, to s3://BUCKET/PREFIX, or to the object store of " +
		"NATS (nats:)"
	return cmd
}

func (a *app) compact(ctx context.Context, e *jetstream.Engine, o *compactFlags) error {
	c := &queue.Compaction{Age: time.Duration(o.older), DryRun: o.dryRun, Settle: settleTime,
		Gap: func(ctx context.Context) error { return checkCopies(ctx, e) }}
	if c.Age < queue.MinAge {
		return usage("--older-than must be %v or more", queue.MinAge)
	}
	if a.queueFlags.embedded != "" {
		c.Settle = embeddedSettleTime
	}
	if o.dryRun {
		done, err := c.Run(ctx, e, nil)
		fmt.Fprintf(a.err, "%d results in %d segments would be moved\n", done.Results, done.Segments)
		if a.queueFlags.crawl != "" {
			fmt.Fprintf(a.err, "%d pages would be moved\n", done.Pages)
		}
		return err
	}
	s, closeStore, err := o.store.openExisting(ctx, e)
	if err != nil {
		return err
	}
	defer closeStore()
	c.Listed = func(done *queue.Compacted) {
		fmt.Fprintf(a.err, "%d results moved to %d segments of %d bytes\n", done.Results, done.Segments,
			done.Bytes)
		if a.queueFlags.crawl != "" {
			fmt.Fprintf(a.err, "%d pages moved\n", done.Pages)
		}
		if done.Results > 0 || done.Pages > 0 {
			fmt.Fprintf(a.err, "waiting %v before they are removed from the servers\n", c.Settle)
		}
	}
	return withSegments(ctx, e, func(ctx context.Context) error {
		done, err := c.Run(ctx, e, s)
		fmt.Fprintf(a.err, "%d results removed from the servers\n", done.Removed)
		if a.queueFlags.crawl != "" {
			fmt.Fprintf(a.err, "%d pages removed from the servers\n", done.PagesRemoved)
		}
		if err != nil && fetch.CodeOf(err) == "" {
			err = fileError(err)
		}
		return err
	})
}

// withSegments calls do while no other program moves results or deletes contents that no result names. The
// contents of a new segment are such, until it is listed.
func withSegments(ctx context.Context, e queue.Engine, do func(context.Context) error) error {
	return queue.WithLock(ctx, e, "segments", func(context.Context) (bool, error) { return false, nil }, do)
}

// checkCopies returns an error if a copy of the results may have a result that others lack.
func checkCopies(ctx context.Context, e *jetstream.Engine) error {
	status, err := e.Status(ctx)
	if err != nil || status.Replicas <= 1 {
		return err
	}
	copies, fullest, err := e.Copies(ctx)
	unknown := slices.ContainsFunc(copies, func(c jetstream.Copy) bool { return c.Unknown })
	if err == nil && (fullest != "" || unknown) {
		err = fetch.ErrServer.Wrap("", fmt.Errorf(
			"the copies of the results may differ (%s), and one may have results that others lack: "+
				"use \"urlget queue audit --resubmit\" first", jetstream.DescribeCopies(copies)))
	}
	return err
}
