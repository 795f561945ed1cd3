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

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/interrupt"
	"github.com/urlget/urlget/internal/render"
)

type app struct {
	in         io.Reader
	out, err   io.Writer
	queueFlags queueFlags
}

type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// run runs the program and returns its exit status. The first signal ends a worker gracefully, a
// second one at once.
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
	if printed := (*printedError)(nil); errors.As(err, &printed) {
		return printed.status
	}
	fmt.Fprintf(a.err, "urlget: %s\n", render.ErrorText(err))
	if wrong := (*usageError)(nil); errors.As(err, &wrong) {
		return job.ExitStatus(fetch.ErrRequest)
	}
	return job.ExitStatus(fetch.CodeOf(err))
}

type printedError struct{ status int }

func (e *printedError) Error() string { return "" }

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "urlget",
		Short:         "Queue URLs and retrieve them with workers",
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(_ *cobra.Command, args []string) error {
			return usage("a command is required: submit, work or queue")
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return usage("%v; use %s --help to list the flags", err, cmd.CommandPath())
	})
	root.SetHelpFunc(printHelp)
	root.AddCommand(a.submitCommand(), a.workCommand(), a.queueCommand())
	return root
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("unexpected argument %q", args[0])
	}
	return nil
}

func oneArgument(wanted string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("%s", wanted)
		}
		return nil
	}
}
