package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// A batch holds the URLs of one run: the arguments, the lines of the input file, and the matches of
// patterns. It is the source of the scheduler's tasks.
type batch struct {
	app          *app
	do           func(context.Context, *task) outcome
	template     *job.Job // the flags, as a job without a URL
	cancel       context.CancelCauseFunc
	arguments    chan argument
	argumentsErr error // the error that ended arguments; valid once that is closed

	matches  chan *job.Job
	patterns atomic.Int32  // patterns being expanded
	expanded chan struct{} // signaled when a pattern is fully expanded

	stopped       atomic.Bool  // --fail-fast, after a failure
	received      atomic.Int64 // bytes
	quotaReported atomic.Bool  // the quota was reached, and a message was printed

	number int // number of tasks created
	output outputQueue
}

// A task is the processing of one URL: an argument, a line of the list, or a match of a pattern.
type task struct {
	*job.Job
	number  int                // position in the run
	pos     string             // FILE:LINE of the list, or ""
	lock    *download.Manifest // the line of the lock file, or nil
	pattern bool               // the URL turned out to be a pattern
}

// An outcome is the result of a task.
type outcome struct {
	res    *job.Result // nil if no job ran
	kept   string      // says what an interrupted transfer keeps for another run; "" if nothing
	err    error
	report func() // prints everything except err; may be nil
}

// failed returns an outcome with an error and no result.
func failed(err error) outcome { return outcome{err: err} }

// errFailFast ends a run after its first failure.
var errFailFast = &fetch.Error{Code: fetch.ErrInterrupted, Err: errors.New("another transfer failed")}

// run runs the tasks of the arguments, then those of the list.
func (b *batch) run(ctx context.Context, args []string, l *list) error {
	if l != nil {
		defer l.body.Close()
	}
	a := b.app
	ctx, b.cancel = context.WithCancelCause(ctx)
	defer b.cancel(nil)
	a.batch = b
	b.arguments, b.matches, b.expanded = make(chan argument), make(chan *job.Job), make(chan struct{}, 1)
	b.output.ordered = a.opts.Report.Quiet || a.opts.Report.JSON || a.locking
	a.con.Expect(len(args))
	go b.read(ctx, args, l)
	err := a.hosts.Run(ctx, b.nextTask)
	switch {
	case ctx.Err() == nil:
		return err
	case a.exit.status() != exitOK: // already reported
		return nil
	}
	return context.Cause(ctx)
}

// seeds returns the start URLs of a tree, or none after a failure with --fail-fast.
func (b *batch) seeds(ctx context.Context, args []string, l *list) ([]seed, error) {
	if l != nil {
		defer l.body.Close()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.arguments = make(chan argument)
	go b.read(ctx, args, l)
	var seeds []seed
	for {
		select {
		case g, more := <-b.arguments:
			if !more {
				return seeds, b.argumentsErr
			}
			number := b.next()
			subject, j, err := b.parseArgument(g)
			if err == nil {
				seeds = append(seeds, seed{j.URL, number, g.pos})
				continue
			}
			b.app.failed(number, g.pos, subject, err)
			if b.app.opts.Many.FailFast {
				return nil, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// serial reports whether transfers run one at a time, in argument order: with one job, or if all
// output goes to one stream.
func (a *app) serial() bool {
	return a.sequential || a.writer != nil
}

// read sends the arguments and the lines of the list. After ctx is done, it waits only for the line
// that is being read.
func (b *batch) read(ctx context.Context, args []string, l *list) {
	defer close(b.arguments)
	pass := func(g argument) bool {
		select {
		case b.arguments <- g:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for i, arg := range args {
		g := argument{text: arg}
		if b.app.outputs != nil {
			g.output = b.app.outputs[i]
		}
		if !pass(g) {
			return
		}
	}
	if locks := b.app.locks; locks != nil {
		b.app.con.Expect(len(locks.locks))
		if len(locks.locks) == 0 {
			b.app.say("no URLs in %s", fetch.Printable(locks.name))
		}
		for _, l := range locks.locks {
			if !pass(argument{lock: l, pos: fmt.Sprintf("%s:%d", locks.name, l.Line)}) {
				return
			}
		}
	}
	if l == nil {
		return
	}
	empty := true
	b.argumentsErr = l.each(b.app.retrievable, func(g argument) bool {
		empty = false
		b.app.con.Expect(1)
		return pass(g)
	})
	if empty && b.argumentsErr == nil {
		b.app.say("no URLs in %s", fetch.Printable(l.name))
	}
}

// retrievable reports whether a driver, proxy or gateway can retrieve URLs of the scheme.
func (a *app) retrievable(scheme string) bool {
	s, ok := a.client.Scheme(scheme)
	return ok && s.Can(fetch.OpGet)
}

// nextTask is the task source of the scheduler.
func (b *batch) nextTask(ctx context.Context, _ func(string) bool) (schedule.Task, error) {
	if err := b.output.wait(ctx, b.number); err != nil {
		return schedule.Task{}, err
	}
	for {
		if b.overQuota() {
			return schedule.Task{}, io.EOF
		}
		more := b.arguments
		if more == nil && b.patterns.Load() == 0 {
			return schedule.Task{}, schedule.ErrNone // a task may still turn out to be a pattern
		}
		select {
		case j := <-b.matches:
			return b.task(j, "", nil), nil
		case <-b.expanded:
		case g, ok := <-more:
			if ok {
				return b.argumentTask(ctx, g), nil
			}
			b.arguments = nil
			if b.argumentsErr != nil {
				return schedule.Task{}, b.argumentsErr
			}
		case <-ctx.Done():
			return schedule.Task{}, context.Cause(ctx)
		}
	}
}

// overQuota reports whether the quota is reached.
func (b *batch) overQuota() bool {
	q := int64(b.app.opts.Many.Quota)
	if q == 0 || b.received.Load() < q {
		return false
	}
	if !b.quotaReported.Swap(true) {
		b.app.say("the quota of %d bytes is reached: no more transfers are started", q)
	}
	return true
}

// argumentTask returns the task for an argument.
func (b *batch) argumentTask(ctx context.Context, g argument) schedule.Task {
	subject, j, err := b.parseArgument(g)
	if err == nil {
		err = b.app.fillForm(j)
	}
	if err == nil {
		err = b.app.checksum(ctx, j)
	}
	if err != nil {
		number := b.next()
		return schedule.Task{Do: func(context.Context) error {
			b.end(number, g.pos, subject, failed(err))
			return schedule.ErrNoVerdict
		}}
	}
	return b.task(j, g.pos, g.lock)
}

// parseArgument parses an argument and returns its job and its name in messages.
func (b *batch) parseArgument(g argument) (subject string, j *job.Job, err error) {
	switch {
	case strings.HasPrefix(g.text, "{") && g.pos != "":
		if j, err = b.app.lineJob(b.template, g); err != nil {
			return lineURL(g.text), nil, err
		}
		g.text, g.url = "", j.URL
	default:
		dup := *b.template
		j = &dup
	}
	if g.lock != nil {
		g.url = g.lock.URLs[0]
	}
	u := g.url
	if u.IsZero() {
		subject, u, err = b.app.parse(g.text)
	} else {
		subject, err = u.Redacted(), b.app.checkScheme(u, u.String())
	}
	if wrong := (*failure.Usage)(nil); errors.As(err, &wrong) && g.pos != "" {
		wrong.Hint = lineHint(u, wrong.Hint)
	}
	if err != nil {
		return subject, nil, err
	}
	if g.from.IsZero() {
		b.app.namedOrigins.add(u)
		u = withoutReplacedLogin(b.app.opts, u)
	}
	j.URL, j.From = u, g.from
	return subject, j, nameGlobbed(j, g.output)
}

// lineHint returns the hint for a list line without a scheme. If the line looks like a host or file,
// hint already has it.
func lineHint(u uri.URI, hint string) string {
	text := u.String()
	switch {
	case strings.HasPrefix(hint, "did you mean file:"):
		return hint
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "."), strings.HasPrefix(text, "?"):
		return "use --base URL to resolve relative lines"
	case strings.HasPrefix(hint, "did you mean"):
		return hint
	}
	return "each line must be a URL, a # comment or a JSON object with a url field"
}

func (b *batch) next() int {
	b.number++
	return b.number - 1
}

// task returns the task that runs j, whose position in a list is pos. Lock is the line of a lock file, or
// nil.
func (b *batch) task(j *job.Job, pos string, lock *download.Manifest) schedule.Task {
	number := b.next()
	host := hostOf(j.URL)
	if b.app.serial() {
		host = "all" // one host for all URLs keeps their order
	}
	var ahead *fetch.Request
	if s, _ := b.app.client.Scheme(j.URL.Scheme()); s.Pipelined && j.Op == fetch.OpGet {
		ahead = &fetch.Request{URL: j.URL, From: j.From}
	}
	t := &task{Job: j, number: number, pos: pos, lock: lock}
	return schedule.Task{Host: host, Request: ahead, Do: func(ctx context.Context) error {
		if b.overQuota() || ctx.Err() != nil { // not begun
			b.end(number, "", "", outcome{})
			return schedule.ErrNoVerdict
		}
		out := b.do(ctx, t)
		if t.pattern {
			b.patterns.Add(-1)
			select {
			case b.expanded <- struct{}{}:
			default:
			}
		}
		if out.res != nil {
			b.received.Add(out.res.Received)
		}
		b.end(number, pos, j.URL.Redacted(), out)
		if out.res == nil || host != hostOf(j.URL) { // the pause is for one host only
			return schedule.ErrNoVerdict
		}
		return out.res.Err
	}}
}

// end reports the outcome of a task when the output order allows it.
func (b *batch) end(number int, pos, subject string, e outcome) {
	stop := e.err != nil && b.app.opts.Many.FailFast
	b.output.add(number, func() { b.report(number, pos, subject, e) })
	if stop && !b.stopped.Swap(true) {
		b.cancel(errFailFast)
	}
}

// report reports an outcome. An interruption because another task failed is not reported.
func (b *batch) report(number int, pos, subject string, e outcome) {
	b.app.countFailed(e)
	if e.report != nil {
		e.report()
	}
	interrupted := fetch.CodeOf(e.err) == fetch.ErrInterrupted
	switch {
	case e.err == nil || interrupted && b.stopped.Load():
	case e.res != nil && interrupted:
		b.app.interrupted(number, pos, subject, e)
	default:
		b.app.failed(number, pos, subject, e.err)
	}
}

// countFailed counts the bytes of a failed transfer. Saved bytes are counted when the file is reported.
func (r *reporter) countFailed(e outcome) {
	if e.err != nil && e.res != nil {
		r.tally.addBytes(e.res.Received)
	}
}

// match runs the action on a URL that matches the pattern of t. It queues a new task, or runs it
// directly if transfers are serial, to keep the order of the arguments.
func (b *batch) match(ctx context.Context, t *task, j *job.Job) error {
	if b.app.serial() {
		e := b.do(ctx, &task{Job: j, number: t.number, pos: t.pos})
		if e.res != nil {
			b.received.Add(e.res.Received)
		}
		b.report(-1, "", j.URL.Redacted(), e)
		if e.err != nil && ctx.Err() != nil {
			return errReported
		}
		return nil
	}
	if !t.pattern {
		t.pattern = true
		b.patterns.Add(1)
		b.app.hosts.Release(ctx)
	}
	b.app.con.Expect(1)
	select {
	case b.matches <- j:
		return nil
	case <-ctx.Done():
		return errReported
	}
}
