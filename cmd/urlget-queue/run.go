package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
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

// oneTouch is the time within which a second signal counts as the same.
const oneTouch = 300 * time.Millisecond

// run runs the program until it ends or a signal asks it to end, for which a worker takes its time.
// A second signal ends it at once.
func run(args []string, in io.Reader, out, errors io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	again := make(chan struct{})
	go func() {
		<-signals
		first := time.Now()
		cancel(fetch.ErrInterrupted)
		for range signals {
			if time.Since(first) > oneTouch {
				close(again)
				return
			}
		}
	}()
	ended := make(chan int, 1)
	go func() {
		a := &app{in: in, out: out, err: errors}
		ended <- a.run(ctx, args)
	}()
	select {
	case status := <-ended:
		return status
	case <-again:
		return render.ExitInterrupted
	}
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
		return render.ExitUsage
	}
	return render.ExitStatus(fetch.CodeOf(err))
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
