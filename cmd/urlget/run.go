package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/session"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/interrupt"
)

type stdio struct{ in, out, err *os.File }

// A program is one run of the program: the values that its commands share.
type program struct {
	words []string // the command line; nil: flags of all commands are defined
	table flags.Table
	opts  *flags.Options
	rep   *reporter
	net   *network
}

// newProgram returns a program for a command line; nil words mean that flags of all commands are
// defined. The loaders add schemes to the built-in ones.
func newProgram(words []string, std stdio, loaders []fetch.Loader) *program {
	con := tty.NewConsole(std.err)
	opts := flags.New()
	rep := &reporter{std: std, opts: opts, con: con}
	user := &dialog{Prompt: tty.NewPrompt(std.err, con), con: con, input: session.NewInput(std.in)}
	n := &network{rep: rep, opts: opts, dialog: user, loaders: loaders}
	n.logins.opts, n.logins.dialog = opts, user
	return &program{words, opts.Table(), opts, rep, n}
}

// grace is the time to shut down after a signal.
const grace = time.Second

// interruptible runs the command until it ends or receives a signal. After a signal it shuts down in
// order; a second signal ends it immediately.
func interruptible(args []string, std stdio, loaders ...fetch.Loader) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	signals = slices.DeleteFunc(signals, signal.Ignored) // as under nohup
	return interrupt.Run(grace, signals, func(ctx context.Context) int {
		return execute(ctx, args, std, loaders...)
	})
}

// errEnded ends a command that has nothing left to do or to report.
var errEnded = errors.New("ended")

func execute(ctx context.Context, args []string, std stdio, loaders ...fetch.Loader) int {
	p := newProgram(args, std, loaders)
	if err := p.run(ctx, args); err != nil && err != errEnded {
		if errors.As(err, new(*fs.PathError)) { // an unclassified file error
			err = failure.File(err)
		}
		p.rep.fail("", p.opts.WithFlag(p.table, p.net.config.WithConfigHint(err)))
	}
	p.net.close()
	p.rep.closeLog()
	return p.rep.exit.status()
}

func (p *program) run(ctx context.Context, args []string) error {
	if isQueueCommand(args) {
		return runQueueProgram(args)
	}
	root := p.command()
	args, letters, err := p.table.Split(args, root.Flags())
	if err != nil {
		return err
	}
	if err := checkHelp(letters, args); err != nil {
		return err
	}
	p.setCompletion(root)
	root.SetArgs(args)
	root.SetIn(p.rep.std.in)
	help := bufio.NewWriter(p.rep.std.out)
	root.SetOut(help)
	root.SetErr(p.rep.std.err)
	err = root.ExecuteContext(ctx)
	return cmp.Or(err, failure.File(help.Flush()))
}
