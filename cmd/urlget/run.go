package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/urlget/urlget/cmd/internal/interrupt"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/render"
)

// stdio is where the command reads and writes.
type stdio struct{ in, out, err *os.File }

// An app is one run of the program.
type app struct {
	*getter
	words []string // the command line; nil: flags of all commands are defined
}

// newApp returns an app for a command line; nil words mean that flags of all commands are defined.
func newApp(words []string, std stdio, more []fetch.Loader) *app {
	con := tty.NewConsole(std.err)
	opts := flags.New()
	r := &reporter{std: std, opts: opts, con: con}
	n := &network{reporter: r, table: opts.Table(), prompt: tty.NewPrompt(std.err, con), input: input{from: std.in}, more: more}
	return &app{getter: &getter{network: n, sender: sender{opts: opts, in: std.in}}, words: words}
}

// grace is how long the command may take to end after a signal.
const grace = time.Second

// interruptible runs the command until it ends or a signal asks it to end. Work in progress is then
// abandoned in an orderly way; a second signal ends the command at once.
func interruptible(args []string, std stdio, more ...fetch.Loader) int {
	signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored) // as under nohup
	return interrupt.Run(grace, signals, func(ctx context.Context) int { return execute(ctx, args, std, more...) })
}

// execute runs the command with its arguments and returns its exit status. The loaders add schemes to
// the built-in ones.
func execute(ctx context.Context, args []string, std stdio, more ...fetch.Loader) int {
	a := newApp(args, std, more)
	root := a.command()
	var err error
	if isCompanions(args) {
		err = runCompanion(args)
	} else if args, err = a.table.Split(args, root.Flags()); err == nil {
		wantShell(root)
		root.SetArgs(args)
		root.SetIn(std.in)
		help := &writer{w: std.out}
		root.SetOut(help)
		root.SetErr(std.err)
		if err = root.ExecuteContext(ctx); err == nil {
			err = failure.File(help.err)
		}
	}
	if errors.As(err, new(*fs.PathError)) { // of a command that knows nothing of classes
		err = failure.File(err)
	}
	if err != nil {
		a.fail("", a.config.Blame(err))
	}
	if err := a.closeOutput(); err != nil {
		a.fail("", err)
	}
	if a.client != nil {
		a.client.Close()
	}
	if err := a.archives.close(); err != nil {
		a.fail("", err)
	}
	return a.exit.status()
}

// A writer remembers the first error, for callers that do not check.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// fail reports err and, if it is the first, makes it determine the exit status.
func (r *reporter) fail(subject string, err error) { r.failed(-1, "", subject, err) }

// failed is fail for what was given as the one with that number, which counts as the first if those
// before it end well, whenever they end. place is where in a list it was given, or "".
func (r *reporter) failed(number int, place, subject string, err error) {
	status := exitStatus(err)
	if status == exitOK {
		return
	}
	err = inWords(err)
	r.exit.failed(number, status)
	if r.events != nil && (subject != "" || place != "") { // a line of a list may have no URL
		ev := render.Failed(subject, err, status)
		ev.Hint = hintOf(err)
		r.write(ev)
	}
	name := cmp.Or(subject, place)
	switch {
	case name == "":
	case fetch.CodeOf(err) == fetch.ErrInterrupted:
		r.tally.brokenOff()
	default:
		r.tally.fail(name)
	}
	printError(r.con.Prose(), r.con.Paint, place, subject, err)
	if wanted := (*fetch.FormError)(nil); errors.As(err, &wanted) {
		render.Form(r.con, &wanted.Form)
	}
}
