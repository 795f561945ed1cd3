package main

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/term"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/render"
)

// emit writes an event, if events are wanted.
func (a *app) emit(ev render.Event) {
	if a.events == nil {
		return
	}
	if err := a.events.Write(ev); err != nil {
		a.events = nil // there is nobody to tell the next one
		a.fail("", fileError(err))
	}
}

// progressInterval bounds the progress events to four a second.
const progressInterval = 250 * time.Millisecond

// progress returns what is called as octets come, nil if nobody wants to know,
// and what is called at the end, perhaps twice.
func (a *app) progress(j *job) (update func(done, total int64), end func()) {
	last := time.Now()
	switch {
	case a.events != nil:
		return func(done, total int64) {
			if now := time.Now(); now.Sub(last) >= progressInterval {
				last = now
				a.emit(render.Progress(j.name, done, total))
			}
		}, func() {}
	case a.set.quiet, !term.IsTerminal(int(a.std.err.Fd())):
		return nil, func() {}
	case a.set.output == "-" && term.IsTerminal(int(a.std.out.Fd())):
		return nil, func() {}
	}
	b := a.con.newBar(barName(j))
	return b.update, b.end
}

// middleware returns what watches and slows down every exchange.
func (a *app) middleware() []fetch.Middleware {
	if a.rate == nil {
		return []fetch.Middleware{a.watch}
	}
	return []fetch.Middleware{a.watch, a.rate}
}

// watch reports redirects and, for -S, what the servers reply.
func (a *app) watch(next fetch.Driver) fetch.Driver {
	return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		resp, err := next.Open(ctx, req)
		if a.set.replies {
			a.printReply(resp, err)
		}
		if err == nil && len(resp.Location) > 0 {
			to := req.URL.Resolve(resp.Location[0])
			a.emit(render.Redirect(a.job.name, req.URL.Redacted(), to.Redacted()))
		}
		return resp, err
	})
}

// printReply prints what a server replied, and the fields of its answer.
func (a *app) printReply(resp *fetch.Response, err error) {
	var failed *fetch.Error
	text := ""
	switch {
	case err == nil:
		text = "  " + resp.Reply.String() + "\n"
		for _, f := range render.Fields(resp.Header) {
			text += "  " + fetch.Printable(f.Name) + ": " + fetch.Printable(f.Value) + "\n"
		}
	case errors.As(err, &failed):
		text = "  " + failed.Reply.String() + "\n"
	}
	if text != "  \n" {
		io.WriteString(a.con, text)
	}
}

// barName is the name that a bar shows.
func barName(j *job) string {
	if name := j.url.LastSegment(); name != "" {
		return name
	}
	return j.url.Host()
}
