package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/internal/interrupt"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
)

// An app is one run of the program.
type app struct {
	in       io.Reader
	out, err io.Writer
	reach    reach
}

// A usageError is a mistake on the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// run runs the program until it ends or a signal asks it to end, for which a worker takes its time.
// A second signal ends it at once.
func run(args []string, in io.Reader, out, errors io.Writer) int {
	return interrupt.Run(0, []os.Signal{os.Interrupt, syscall.SIGTERM}, func(ctx context.Context) int {
		a := &app{in: in, out: out, err: errors}
		return a.run(ctx, args)
	})
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.command()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if told := (*toldError)(nil); errors.As(err, &told) {
		return told.status
	}
	fmt.Fprintf(a.err, "urlget: %s\n", render.Message(err))
	if wrong := (*usageError)(nil); errors.As(err, &wrong) {
		return job.ExitUsage
	}
	return job.ExitStatus(fetch.CodeOf(err))
}

// A toldError is one that the user was told of.
type toldError struct{ status int }

func (e *toldError) Error() string { return "" }

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "urlget",
		Short:         "Queues of URLs, and workers that retrieve them",
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(_ *cobra.Command, args []string) error {
			return usage("want submit, work or queue")
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return usage("%v; %s --help lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(a.submitCommand(), a.workCommand(), a.queueCommand())
	return root
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%q is one argument too many", args[0])
	}
	return nil
}
