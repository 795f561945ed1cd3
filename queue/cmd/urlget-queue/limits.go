package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

func (a *app) limitsCommand() *cobra.Command {
	cmd := a.engineCommand("limits [FILE]", "Print the limits of single hosts, or replace them",
		func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usage("unexpected argument %q", args[1])
			case a.queueFlags.crawl != "":
				return usage("the limits of hosts belong to the queue and apply to its crawls; omit --crawl")
			}
			return nil
		},
		func(ctx context.Context, e *jetstream.Engine, args []string) error {
			if len(args) > 0 {
				return a.setLimits(ctx, e, args[0])
			}
			return a.limits(ctx, e)
		})
	cmd.Long = `Print the limits of single hosts that the queue holds, or replace them with
those in FILE (- for standard input). An empty file removes them. Each line has
three columns, HOST PER-HOST WAIT:

  # comment
  slow.example    1  5s
  archive.example 6  -

They replace --per-host and --wait of all workers for the host and each host
below it; "-" is the flag of the worker. The line for the longest name applies.
Workers notice within seconds.`
	cmd.Example = `  urlget queue limits FILE
  echo 'slow.example 1 5s' | urlget queue limits -`
	return cmd
}

func (a *app) limits(ctx context.Context, e queue.Admin) error {
	text, err := e.HostLimits(ctx)
	if err != nil {
		return err
	}
	l, err := queue.ParseHostLimits("limits", bytes.NewReader(text)) // others may have written them
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	_, err = w.Write(bytes.ReplaceAll([]byte(l.String()), []byte(" "), []byte("\t")))
	if err == nil {
		err = w.Flush()
	}
	return fileError(err)
}

func (a *app) setLimits(ctx context.Context, e queue.Admin, name string) error {
	in := a.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return fileError(err)
		}
		defer f.Close()
		in = f
	}
	l, err := queue.ParseHostLimits(name, in)
	if err != nil {
		return err
	}
	text := l.String()
	if err := e.SetHostLimits(ctx, []byte(text)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.err, "%d limits set\n", bytes.Count([]byte(text), []byte("\n")))
	return err
}
