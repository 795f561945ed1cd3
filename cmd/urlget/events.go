package main

import (
	"context"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetch/render"
)

// openEvents prepares for writing events, if they are wanted.
func (a *app) openEvents() {
	if a.set.json {
		a.events = render.NewEventWriter(a.std.out)
	}
}

// emit writes the event of a step, if events are wanted.
func (a *app) emit(ev render.Event) {
	if a.steps {
		a.write(ev)
	}
}

// write writes an event, if there is a reader.
func (a *app) write(ev render.Event) {
	if a.events == nil {
		return
	}
	if err := a.events.Write(ev); err != nil {
		a.events = nil // nobody reads them any more
		a.fail("", fileError(err))
	}
}

// progressInterval limits progress events to four per second.
const progressInterval = 250 * time.Millisecond

// progress returns the function to call as bytes arrive, or nil if progress is not reported.
func (a *app) progress(j *job.Job, t *transfer) func(done, total int64) {
	tell := a.emit
	switch {
	case a.set.progress == progressJSON && !a.set.quiet && a.events == nil:
		w := render.NewEventWriter(a.con)
		tell = func(ev render.Event) { w.Write(ev) } // or the user has closed it
	case a.events != nil:
	case t == nil:
		return nil
	default:
		return t.update
	}
	last := time.Now()
	return func(done, total int64) {
		if now := time.Now(); now.Sub(last) >= progressInterval || done == total && a.events == nil {
			last = now
			tell(render.Progress(j.URL.Redacted(), done, total))
		}
	}
}

// openDisplay prepares the display of progress, if there is a terminal that may be used for it.
func (a *app) openDisplay(ctx context.Context) {
	terminal := term.IsTerminal(int(a.std.err.Fd()))
	a.con.paint = a.set.color(a.std.err, terminal)
	a.con.ending = ctx.Done()
	switch {
	case a.set.quiet || a.set.json || a.set.log.brief || a.set.progress == progressNone || a.set.progress == progressJSON:
	case a.set.output == "-" && term.IsTerminal(int(a.std.out.Fd())):
	case a.set.progress == progressPlain, terminal && os.Getenv("TERM") == "dumb": // which cannot take lines back
		a.con.plain = true
	case terminal:
		a.con.tty = a.std.err
	}
}

// middleware returns the middleware that observes and limits every exchange.
func (a *app) middleware() []fetch.Middleware {
	list := []fetch.Middleware{a.watch}
	if a.config.sectioned() {
		list = append(list, a.addFields)
	}
	if a.set.rate > 0 {
		list = append(list, middleware.RateLimit(int64(a.set.rate)))
	}
	if a.set.many.hostRate > 0 {
		list = append(list, middleware.RateLimitPerHost(int64(a.set.many.hostRate)))
	}
	if r := a.archives.replay; r != nil {
		list = append(list, r.Middleware(replay.Options{Only: a.set.archive.only, At: a.set.archive.at}))
	}
	return list
}

// watch reports redirects.
func (a *app) watch(next fetch.Driver) fetch.Driver {
	return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		resp, err := next.Open(ctx, req)
		if j := job.FromContext(ctx); err == nil && len(resp.Location) > 0 && j != nil {
			to := req.URL.Resolve(resp.Location[0])
			a.emit(render.Redirect(j.URL.Redacted(), req.URL.Redacted(), to.Redacted()))
		}
		return resp, err
	})
}

// barName returns the name that the display shows for a job: that of its file.
func (a *app) barName(j *job.Job, meta *fetch.Meta) string {
	switch {
	case a.out.name != "":
		return a.out.name
	case j.Output != "" && j.Output != "-" && !strings.HasSuffix(j.Output, "/"):
		return path.Base(j.Output)
	}
	return download.Name(j.URL, meta)
}
