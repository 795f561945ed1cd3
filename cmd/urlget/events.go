package main

import (
	"context"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetch/uri"
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

// openEvents prepares writing events if they are enabled.
func (r *reporter) openEvents() {
	if r.opts.Report.JSON {
		r.events = render.NewEventWriter(r.std.out)
	}
}

// emit writes the event of a step if steps are reported.
func (r *reporter) emit(ev render.Event) {
	if r.steps {
		r.write(ev)
	}
}

// write writes an event if events are enabled.
func (r *reporter) write(ev render.Event) {
	if r.events == nil {
		return
	}
	if err := r.events.Write(ev); err != nil {
		r.events = nil // the reader closed the pipe
		r.fail("", failure.File(err))
	}
}

// reportRetry reports that a failed attempt is retried.
func (r *reporter) reportRetry(shown *tty.Transfer, u uri.URI, failed int, wait time.Duration, err error) {
	url, reason := u.Redacted(), render.ErrorText(plainError(err))
	shown.Retry(wait, reason)
	r.emit(render.Retry{URL: url, Attempt: failed + 1, Wait: wait, Err: err})
	r.say("%s: %s; retrying in %s", url, reason, tty.WaitTime(wait))
}

// progressInterval limits progress events to four per second.
const progressInterval = 250 * time.Millisecond

// progress returns the function to call as bytes arrive, or nil if progress is not reported.
func (r *reporter) progress(j *job.Job, t *tty.Transfer) func(done, total int64) {
	emit := r.emit
	switch {
	case r.opts.Report.Progress == flags.ProgressJSON && !r.opts.Report.Quiet && r.events == nil:
		w := render.NewEventWriter(r.con)
		emit = func(ev render.Event) { w.Write(ev) } // an error means that the reader closed the pipe
	case r.events != nil:
	case t == nil:
		return nil
	default:
		return t.Update
	}
	last := time.Now()
	return func(done, total int64) {
		if now := time.Now(); now.Sub(last) >= progressInterval || done == total && r.events == nil {
			last = now
			emit(render.Progress{URL: j.URL.Redacted(), Done: done, Total: total})
		}
	}
}

// openDisplay prepares the progress display if there is a suitable terminal.
func (r *reporter) openDisplay(ctx context.Context) {
	terminal := term.IsTerminal(int(r.std.err.Fd()))
	paint, plain, screen := tty.Color(r.opts.Report.Color, terminal), false, (*os.File)(nil)
	switch {
	case r.opts.Report.Quiet || r.opts.Report.JSON || r.opts.Log.Brief || r.opts.Report.Progress == flags.ProgressNone || r.opts.Report.Progress == flags.ProgressJSON:
	case r.opts.Output.Document == "-" && term.IsTerminal(int(r.std.out.Fd())):
	case r.opts.Report.Progress == flags.ProgressPlain, terminal && os.Getenv("TERM") == "dumb": // cannot erase lines
		plain = true
	case terminal:
		screen = r.std.err
	}
	r.con.Show(paint, ctx.Done(), plain, screen)
}

// middleware returns the middleware for every request: that which observes and limits it, and that
// which answers it from archives.
func (n *network) middleware() []fetch.Middleware {
	list, o := n.observers(), n.opts.Archive
	if o.Replay != nil {
		only := o.ReplayOnly || !o.At.IsZero() && o.TimeGates == nil
		list = append(list, n.replayMiddleware(replay.Options{Only: only, At: o.At, Within: time.Duration(o.Within), Compressed: n.opts.Driver.Web.Compressed}))
	}
	list = n.addCache(list)
	return n.addTimeGates(list, func(context.Context) time.Time { return o.At })
}

// observers returns the middleware that observes and limits every request.
func (n *network) observers() []fetch.Middleware {
	list := []fetch.Middleware{n.watch}
	if n.config.Sectioned() {
		list = append(list, n.addFields)
	}
	if n.opts.Network.Rate > 0 {
		list = append(list, middleware.RateLimit(int64(n.opts.Network.Rate)))
	}
	if n.opts.Many.HostRate > 0 {
		list = append(list, middleware.RateLimitPerHost(int64(n.opts.Many.HostRate)))
	}
	if rate, during := leastSpeed(n.opts); rate > 0 {
		list = append(list, middleware.SpeedLimit(rate, during))
	}
	return list
}

// watch reports redirects, and with --at the captures.
func (n *network) watch(next fetch.Driver) fetch.Driver {
	return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		resp, err := next.Open(ctx, req)
		if j := job.FromContext(ctx); err == nil && len(resp.Location) > 0 && j != nil {
			to := req.URL.Resolve(resp.Location[0])
			n.emit(render.Redirect{URL: j.URL.Redacted(), From: req.URL.Redacted(), To: to.Redacted()})
		} else if err == nil && j != nil && resp.Capture != nil && req.Op != fetch.OpStat && !n.opts.Archive.At.IsZero() && !n.opts.Tree.On() {
			n.say("%s: captured on %s", j.URL.Redacted(), resp.Capture)
		}
		return resp, err
	})
}

// barName returns the file name of a job for the progress display, or "" without a display.
func (a *app) barName(j *job.Job, meta *fetch.Meta) string {
	switch {
	case !a.con.Shown():
		return ""
	case a.out.name != "":
		return a.out.name
	case j.Output != "" && j.Output != "-" && !strings.HasSuffix(j.Output, "/"):
		return path.Base(j.Output)
	}
	return download.Name(j.URL, meta)
}
