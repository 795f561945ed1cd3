package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

var stateEffects = map[queue.State]string{
	queue.Running:  "running: workers start jobs and submissions are accepted",
	queue.Paused:   "paused: workers start no more jobs, and running jobs finish",
	queue.Draining: "draining: submissions are refused, and workers finish the jobs that are there",
}

func (a *app) stateCommands() []*cobra.Command {
	var cmds []*cobra.Command
	for _, c := range []struct {
		name, short, long string
		state             queue.State
	}{
		{"pause", "Pause the queue: workers start no more jobs",
			`Pause the queue or, with --crawl NAME, the crawl. Workers notice within seconds
and start no more jobs. Running jobs finish, and submissions are accepted.
"urlget queue resume" continues.`, queue.Paused},
		{"resume", "Resume a paused or draining queue",
			`Resume the queue or, with --crawl NAME, the crawl, after "urlget queue pause" or
"urlget queue drain".`, queue.Running},
		{"drain", "Refuse submissions and finish the jobs that are there",
			`Refuse submissions to the queue or, with --crawl NAME, new seeds of the crawl.
Workers finish the jobs that are there. A crawl still follows its links.
"urlget queue resume" accepts submissions again.`, queue.Draining},
	} {
		cmd := a.engineCommand(c.name, c.short, noArguments,
			func(ctx context.Context, e *jetstream.Engine, _ []string) error {
				return a.setState(ctx, e, c.state)
			})
		cmd.Long = c.long
		if c.state == queue.Paused {
			cmd.Aliases = []string{"stop"} // the former name
		}
		cmds = append(cmds, cmd)
	}
	return cmds
}

func (a *app) setState(ctx context.Context, e *jetstream.Engine, s queue.State) error {
	prefix := ""
	if name := a.queueFlags.crawl; name != "" {
		if _, err := queue.LoadCrawl(ctx, e); err != nil {
			return err
		}
		prefix = name + ": "
	}
	if err := e.SetState(ctx, s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.err, "%s%s\n", prefix, stateEffects[s])
	return err
}

// stateWord returns the state of a queue or crawl as a word. A queue that is draining and empty is
// drained. A crawl without pages left is finished.
func stateWord(s queue.State, depth uint64, crawl bool) string {
	switch {
	case crawl && depth == 0:
		return "finished"
	case s == queue.Draining && depth == 0:
		return "drained"
	}
	return string(cmp.Or(s, "running"))
}
