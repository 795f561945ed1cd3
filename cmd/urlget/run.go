package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/session"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/formdata"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/interrupt"
	"github.com/urlget/urlget/internal/render"
)

// stdio holds the standard streams of the command.
type stdio struct{ in, out, err *os.File }

// An app is one run of the program.
type app struct {
	*network
	words    []string // the command line; nil: flags of all commands are defined
	client   *fetch.Client
	files    *download.Downloader
	batch    *batch
	sums     *sumFile        // of --checksum; nil if it names none
	locks    *lockFile       // the lock file to retrieve, check or update; nil if there is none
	form     []formdata.Part // the fields of --form
	formBody *formdata.Body  // form encoded as a request body
	out      destination     // of the content
	writer   io.Writer       // of the content; nil for files
	device   *os.File        // the writer, if it must be closed
	saves    bool            // the command saves files
	locking  bool            // the command writes, checks or updates a lock file
	outputs  []string        // names of files for the arguments, from --glob-ranges; may be nil
	keeps    atomic.Bool     // an interrupted transfer can be resumed

	processors processorLimit
	terminal   sync.Mutex // held while prompting or while a session is attached
}

// newApp returns an app for a command line; nil words mean that flags of all commands are defined.
func newApp(words []string, std stdio, loaders []fetch.Loader) *app {
	con := tty.NewConsole(std.err)
	opts := flags.New()
	r := &reporter{std: std, opts: opts, con: con}
	n := &network{reporter: r, table: opts.Table(), prompt: tty.NewPrompt(std.err, con), input: session.NewInput(std.in), loaders: loaders}
	return &app{network: n, words: words}
}

// grace is the time to shut down after a signal.
const grace = time.Second

// interruptible runs the command until it ends or receives a signal. After a signal it shuts down in
// order; a second signal ends it immediately.
func interruptible(args []string, std stdio, loaders ...fetch.Loader) int {
	signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored) // as under nohup
	return interrupt.Run(grace, signals, func(ctx context.Context) int { return execute(ctx, args, std, loaders...) })
}

// execute runs the command with its arguments and returns its exit status. The loaders add schemes to
// the built-in ones.
func execute(ctx context.Context, args []string, std stdio, loaders ...fetch.Loader) int {
	a := newApp(args, std, loaders)
	root := a.command()
	var err error
	if isQueueCommand(args) {
		err = runQueueProgram(args)
	} else if args, err = a.table.Split(args, root.Flags()); err == nil {
		setCompletion(root)
		root.SetArgs(args)
		root.SetIn(std.in)
		help := &errWriter{w: std.out}
		root.SetOut(help)
		root.SetErr(std.err)
		if err = root.ExecuteContext(ctx); err == nil {
			err = failure.File(help.err)
		}
	}
	if errors.As(err, new(*fs.PathError)) { // an unclassified file error
		err = failure.File(err)
	}
	if err != nil {
		a.fail("", a.config.WithConfigHint(err))
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

// An errWriter remembers the first error, for callers that do not check.
type errWriter struct {
	w   io.Writer
	err error
}

func (w *errWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// fail reports err. The first error determines the exit status.
func (r *reporter) fail(subject string, err error) { r.failed(-1, "", subject, err) }

// failed is fail for the task with that number. The failed task with the lowest number determines the
// exit status. pos is the position in a list, or "".
func (r *reporter) failed(number int, pos, subject string, err error) {
	if err = r.record(number, pos, subject, err); err == nil {
		return
	}
	printError(r.con.Prose(), r.con.Paint, pos, subject, err)
	if r.terminalErr != nil && exitStatus(err) == exitUsage && pos == "" {
		printError(r.terminalErr, false, pos, subject, err)
	}
	if wanted := (*fetch.FormError)(nil); errors.As(err, &wanted) {
		render.Form(r.con, &wanted.Form)
	}
}

// interrupted reports a transfer that the user interrupted, by the name of its file. A hint for all of
// them follows at the end of the run.
func (a *app) interrupted(number int, pos, subject string, e outcome) {
	if a.record(number, pos, subject, e.err) == nil {
		return
	}
	name := subject
	if e.res.Unfinished != "" {
		name = filepath.Join(a.out.dir, filepath.FromSlash(e.res.Unfinished))
	}
	if e.kept != "" {
		a.keeps.Store(true)
		name += ": " + e.kept
	}
	io.WriteString(a.con.Prose(), "interrupted "+fetch.Printable(name)+"\n")
}

// record records an error for the exit status, the events and the summary. It returns the error to
// print, or nil if there is none.
func (r *reporter) record(number int, pos, subject string, err error) error {
	status := exitStatus(err)
	if status == exitOK {
		return nil
	}
	err = plainError(err)
	r.exit.failed(number, status)
	if r.events != nil && (subject != "" || pos != "") { // a line of a list may have no URL
		ev := (&job.Result{URL: subject, Outcome: job.Failed, Err: err}).Event("")
		ev.Exit, ev.Hint = status, hintOf(err)
		r.write(render.End(ev))
	}
	name := cmp.Or(subject, pos)
	switch {
	case name == "":
	case fetch.CodeOf(err) == fetch.ErrInterrupted:
		r.tally.interrupt()
	default:
		r.tally.fail(name)
	}
	return err
}
