package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
)

// A reporter prints messages on standard error, and events and listings on standard output. It
// holds the exit status.
type reporter struct {
	std    stdio
	opts   *flags.Options
	con    *tty.Console        // standard error
	events *render.EventWriter // nil without --json
	steps  bool                // report every step, not only failures
	exit   exit
	tally  tally
	stdout sync.Mutex // held while a listing is printed

	terminalErr *os.File // standard error, if a log replaces it
	logged      bool     // messages are written to a log
}

func (r *reporter) say(format string, args ...any) {
	if r.showsMessages() {
		fmt.Fprintf(r.con.Prose(), format+"\n", args...)
	}
}

func (r *reporter) showsMessages() bool { return !r.opts.Report.Quiet && r.events == nil }

// fail reports err. The first error determines the exit status.
func (r *reporter) fail(subject string, err error) { r.failed(-1, "", subject, err) }

// failed is fail for the task with that number. The failed task with the lowest number determines the
// exit status. pos is the position in a list, or "".
func (r *reporter) failed(number int, pos, subject string, err error) {
	if !r.record(number, pos, subject, err) {
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

// interrupted reports a transfer that the user interrupted, by the name of its file in dir. A hint for
// all of them follows at the end of the run.
func (r *reporter) interrupted(number int, pos, subject, dir string, e outcome) {
	if !r.record(number, pos, subject, e.err) {
		return
	}
	name := subject
	if e.res.Unfinished != "" {
		name = filepath.Join(dir, filepath.FromSlash(e.res.Unfinished))
	}
	if e.kept != "" {
		r.tally.kept.Store(true)
		name += ": " + e.kept
	}
	io.WriteString(r.con.Prose(), "interrupted "+fetch.Printable(name)+"\n")
}

// record records an error for the exit status, the events and the summary. It reports whether there
// is one.
func (r *reporter) record(number int, pos, subject string, err error) bool {
	status := exitStatus(err)
	if status == exitOK {
		return false
	}
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
		r.tally.count(interrupted, 0)
	default:
		r.tally.fail(name)
	}
	return true
}

func (r *reporter) emit(ev render.Event) {
	if r.steps {
		r.write(ev)
	}
}

func (r *reporter) write(ev render.Event) {
	if r.events == nil {
		return
	}
	if err := r.events.Write(ev); err != nil {
		r.events = nil // the reader closed the pipe
		r.fail("", failure.File(err))
	}
}
