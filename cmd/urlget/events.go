package main

import (
	"context"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

// An eventHead has the fields that all events begin with.
type eventHead struct {
	Event string `json:"event"`
	URL   string `json:"url"`
	Time  string `json:"time"`
}

func newEventHead(event, url string) eventHead {
	return eventHead{event, url, time.Now().UTC().Format(time.RFC3339Nano)}
}

func (r *reporter) openEvents() {
	if r.opts.Report.JSON {
		r.events = render.NewEventWriter(r.std.out)
	}
}

func (r *reporter) reportRetry(shown *tty.Transfer, u uri.URI, failed int, wait time.Duration, err error) {
	url, reason := u.Redacted(), render.ErrorText(err)
	shown.Retry(wait, reason)
	r.emit(render.Retry{URL: url, Attempt: failed + 1, Wait: wait, Err: err})
	r.say("%s: %s; retrying in %s", url, reason, tty.WaitTime(wait))
}

const progressInterval = 250 * time.Millisecond

// progress returns the function to call as bytes arrive, or nil if progress is not reported.
func (r *reporter) progress(j *job.Job, t *tty.Transfer) func(done, total int64) {
	switch {
	case r.opts.Report.Progress == flags.ProgressJSON && !r.opts.Report.Quiet && r.events == nil:
		w := render.NewEventWriter(r.con)
		// An error means that the reader closed the pipe.
		return r.progressEvents(j, func(ev render.Event) { w.Write(ev) })
	case r.events != nil:
		return r.progressEvents(j, r.emit)
	case t == nil:
		return nil
	}
	return t.Update
}

func (r *reporter) progressEvents(j *job.Job, emit func(render.Event)) func(done, total int64) {
	last := time.Now()
	return func(done, total int64) {
		if now := time.Now(); now.Sub(last) >= progressInterval || done == total && r.events == nil {
			last = now
			emit(render.Progress{URL: j.URL.Redacted(), Done: done, Total: total})
		}
	}
}

func (r *reporter) openDisplay(ctx context.Context) {
	terminal := term.IsTerminal(int(r.std.err.Fd()))
	paint, plain, screen := tty.Color(r.opts.Report.Color, terminal), false, (*os.File)(nil)
	switch {
	case r.opts.Report.Quiet || r.opts.Report.JSON || r.opts.Log.Brief ||
		r.opts.Report.Progress == flags.ProgressNone || r.opts.Report.Progress == flags.ProgressJSON:
	case r.opts.Output.Document == "-" && term.IsTerminal(int(r.std.out.Fd())):
	case r.opts.Report.Progress == flags.ProgressPlain, terminal && os.Getenv("TERM") == "dumb":
		// cannot erase lines
		plain = true
	case terminal:
		screen = r.std.err
	}
	r.con.Show(paint, ctx.Done(), plain, screen)
}
