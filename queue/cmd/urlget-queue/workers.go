package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/render"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

func (a *app) workersCommand() *cobra.Command {
	var asJSON bool
	cmd := a.engineCommand("workers", "Print the workers that run now", noArguments,
		func(ctx context.Context, e *jetstream.Engine, _ []string) error { return a.workers(ctx, e, asJSON) })
	cmd.Long = `Print the workers of the queue or, with --crawl NAME, of the crawl: their jobs
in execution and the age of the oldest one, the jobs that have ended since the
start, how many ended per second in the last interval, and what keeps a worker
from starting jobs. Workers report this every 5 seconds. One that was
killed is listed for up to 15 seconds. Workers of earlier versions are not
listed.`
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	return cmd
}

func (a *app) workers(ctx context.Context, e queue.Admin, asJSON bool) error {
	list, err := queue.ListWorkers(ctx, e)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	width := len("name")
	for _, w := range list {
		width = max(width, utf8.RuneCountInString(fetch.Printable(w.Name)))
	}
	if !asJSON {
		fmt.Fprintf(&b, "%-*s %8s %8s %9s %7s  %s\n", width, "name", "running", "oldest", "ended", "per s",
			"since")
	}
	for _, w := range list {
		if asJSON {
			if err := render.WriteJSON(&b, w); err != nil {
				return err
			}
			continue
		}
		state := ""
		switch {
		case w.Trouble != "":
			state = " " + fetch.Printable(w.Trouble)
		case w.Paused:
			state = " paused"
		}
		oldest := "-"
		if w.Running > 0 {
			oldest = (time.Duration(w.Oldest) * time.Second).String()
		}
		fmt.Fprintf(&b, "%-*s %8d %8s %9d %7.1f  %s%s\n", width, fetch.Printable(w.Name), w.Running, oldest,
			w.Ended, w.Rate, w.Started.UTC().Format(time.RFC3339), state)
	}
	_, err = a.out.Write(b.Bytes())
	return fileError(err)
}
