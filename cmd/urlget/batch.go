package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// A batch is the work of one run: the arguments, then the lines of the input file, and what the
// patterns among them stand for. It is the source of the scheduler's tasks.
type batch struct {
	app      *getter
	do       func(context.Context, *task) outcome
	template *job.Job // what the flags say of each URL
	cancel   context.CancelCauseFunc
	given    chan given
	wrong    error // that ended what is given, once given is closed

	matches  chan *job.Job
	patterns atomic.Int32  // that bring matches
	brought  chan struct{} // holds a value if a pattern has brought its last

	ended    atomic.Bool  // by a failure, with --fail-fast
	received atomic.Int64 // bytes
	full     atomic.Bool  // the quota is reached, and the user told

	number int // tasks given
	turns  turns
}

// A task is the work on one URL: on an argument, on a line of the list, or on a URL that matches a
// pattern among them.
type task struct {
	*job.Job
	number  int    // of the task in the run
	place   string // FILE:LINE of the list, or ""
	pattern bool   // the URL turned out to be a pattern
}

// An outcome is the result of a task.
type outcome struct {
	res    *job.Result // nil if it was no job
	err    error
	report func() // tells the user of everything except err; or nil
}

// failed returns an outcome that has only an error, if any.
func failed(err error) outcome { return outcome{err: err} }

// errFailFast ends a run after its first failure.
var errFailFast = &fetch.Error{Code: fetch.ErrInterrupted, Err: errors.New("another transfer failed")}

// run does the tasks of the arguments, and then of each URL of the list, if there is one.
func (b *batch) run(ctx context.Context, args []string, l *list) error {
	if l != nil {
		defer l.body.Close()
	}
	a := b.app
	ctx, b.cancel = context.WithCancelCause(ctx)
	defer b.cancel(nil)
	a.batch = b
	b.given, b.matches, b.brought = make(chan given), make(chan *job.Job), make(chan struct{}, 1)
	b.turns.ordered = a.opts.Report.Quiet || a.opts.Report.JSON
	a.con.Expect(len(args))
	go b.read(ctx, args, l)
	err := a.hosts.Run(ctx, b)
	switch {
	case ctx.Err() == nil:
		return err
	case a.exit.status() != exitOK: // the user was told
		return nil
	}
	return context.Cause(ctx)
}

// seeds returns the URLs at which a tree begins. With --fail-fast, there are none after a failure.
func (b *batch) seeds(ctx context.Context, args []string, l *list) ([]seed, error) {
	if l != nil {
		defer l.body.Close()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.given = make(chan given)
	go b.read(ctx, args, l)
	var seeds []seed
	for {
		select {
		case g, more := <-b.given:
			if !more {
				return seeds, b.wrong
			}
			number := b.next()
			subject, j, err := b.understand(g)
			if err == nil {
				seeds = append(seeds, seed{j.URL, number, g.place})
				continue
			}
			b.app.failed(number, g.place, subject, err)
			if b.app.opts.Many.FailFast {
				return nil, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// serial reports whether there is one transfer at a time, so that all is done in the order in which
// the user wrote it: if that is wanted, or if all goes to one stream.
func (g *getter) serial() bool {
	return g.inOrder || g.writer != nil
}

// read passes on the arguments and what the list has. It does not wait once ctx is done, but for a
// line.
func (b *batch) read(ctx context.Context, args []string, l *list) {
	defer close(b.given)
	pass := func(g given) bool {
		select {
		case b.given <- g:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for _, arg := range args {
		if !pass(given{text: arg}) {
			return
		}
	}
	if l == nil {
		return
	}
	empty := true
	b.wrong = l.each(b.app.retrievable, func(g given) bool {
		empty = false
		b.app.con.Expect(1)
		return pass(g)
	})
	if empty && b.wrong == nil {
		b.app.say("there is no URL in %s", fetch.Printable(l.name))
	}
}

// retrievable reports whether there is a way to retrieve what has that scheme.
func (g *getter) retrievable(scheme string) bool {
	s, ok := g.client.Scheme(scheme)
	return ok && s.Can(fetch.OpGet)
}

// Next implements schedule.Source.
func (b *batch) Next(ctx context.Context, _ func(string) bool) (schedule.Task, error) {
	if err := b.turns.wait(ctx, b.number); err != nil {
		return schedule.Task{}, err
	}
	for {
		if b.overQuota() {
			return schedule.Task{}, io.EOF
		}
		more := b.given
		if more == nil && b.patterns.Load() == 0 {
			return schedule.Task{}, schedule.ErrNone // or a task turns out to be a pattern
		}
		select {
		case j := <-b.matches:
			return b.task(j, ""), nil
		case <-b.brought:
		case g, ok := <-more:
			if ok {
				return b.parsed(ctx, g), nil
			}
			b.given = nil
			if b.wrong != nil {
				return schedule.Task{}, b.wrong
			}
		case <-ctx.Done():
			return schedule.Task{}, context.Cause(ctx)
		}
	}
}

// overQuota reports whether so much has come that nothing more is to be retrieved.
func (b *batch) overQuota() bool {
	q := int64(b.app.opts.Many.Quota)
	if q == 0 || b.received.Load() < q {
		return false
	}
	if !b.full.Swap(true) {
		b.app.say("the quota of %d bytes is reached: nothing more is retrieved", q)
	}
	return true
}

// parsed returns the task for what the user gave.
func (b *batch) parsed(ctx context.Context, g given) schedule.Task {
	subject, j, err := b.understand(g)
	if err == nil {
		err = b.app.sender.fillForm(b.app.client, j)
	}
	if err == nil {
		err = b.app.checksum(ctx, j)
	}
	if err != nil {
		number := b.next()
		return schedule.Task{Do: func(context.Context) error {
			b.end(number, g.place, subject, failed(err))
			return schedule.ErrNoVerdict
		}}
	}
	return b.task(j, g.place)
}

// understand returns the job of what the user gave, and how messages name it.
func (b *batch) understand(g given) (subject string, j *job.Job, err error) {
	switch {
	case strings.HasPrefix(g.text, "{") && g.place != "":
		if j, err = b.app.lineJob(b.template, g); err != nil {
			return lineURL(g.text), nil, err
		}
		g.text, g.url = "", j.URL
	default:
		dup := *b.template
		j = &dup
	}
	u := g.url
	if u.IsZero() {
		subject, u, err = b.app.parse(g.text)
	} else {
		subject, err = u.Redacted(), b.app.checkScheme(u, u.String())
	}
	if wrong := (*failure.Usage)(nil); errors.As(err, &wrong) && g.place != "" {
		wrong.Hint = lineHint(u, wrong.Hint)
	}
	if err != nil {
		return subject, nil, err
	}
	if g.from.IsZero() {
		b.app.typed.add(u)
		u = overruled(b.app.opts, u)
	}
	j.URL, j.From = u, g.from
	return subject, j, nil
}

// lineHint says what to do about a line of a list that has no scheme, unless it is a host or a file:
// then hint says so.
func lineHint(u uri.URI, hint string) string {
	text := u.String()
	switch {
	case strings.HasPrefix(hint, "did you mean file:"):
		return hint
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "."), strings.HasPrefix(text, "?"):
		return "--base URL says what lines are relative to"
	case strings.HasPrefix(hint, "did you mean"):
		return hint
	}
	return "a line is a URL, a comment after #, or an object of JSON with a url"
}

func (b *batch) next() int {
	b.number++
	return b.number - 1
}

// task returns the task to do j, which the user gave at a place.
func (b *batch) task(j *job.Job, place string) schedule.Task {
	number := b.next()
	host := hostOf(j.URL)
	if b.app.serial() {
		host = "all" // so that the scheduler keeps the order
	}
	var ahead *fetch.Request
	if s, _ := b.app.client.Scheme(j.URL.Scheme()); s.Pipelined && j.Op == fetch.OpGet {
		ahead = &fetch.Request{URL: j.URL, From: j.From}
	}
	t := &task{Job: j, number: number, place: place}
	return schedule.Task{Host: host, Request: ahead, Do: func(ctx context.Context) error {
		if b.overQuota() {
			b.end(number, "", "", outcome{})
			return schedule.ErrNoVerdict
		}
		out := b.do(ctx, t)
		if t.pattern {
			b.patterns.Add(-1)
			select {
			case b.brought <- struct{}{}:
			default:
			}
		}
		if out.res != nil {
			b.received.Add(out.res.Received)
		}
		b.end(number, place, j.URL.Redacted(), out)
		if out.res == nil || host != hostOf(j.URL) { // which is not about them all
			return schedule.ErrNoVerdict
		}
		return out.res.Err
	}}
}

// end tells how a task ended, when it is its turn.
func (b *batch) end(number int, place, subject string, e outcome) {
	stop := e.err != nil && b.app.opts.Many.FailFast
	b.turns.take(number, func() {
		b.app.came(e)
		if e.report != nil {
			e.report()
		}
		if e.err == nil || b.ended.Load() && fetch.CodeOf(e.err) == fetch.ErrInterrupted {
			return // or it was broken off for another one
		}
		b.app.failed(number, place, subject, e.err)
	})
	if stop && !b.ended.Swap(true) {
		b.cancel(errFailFast)
	}
}

// came counts what came of a transfer that failed; what was saved is counted where it is told.
func (r *reporter) came(e outcome) {
	if e.err != nil && e.res != nil {
		r.tally.came(e.res.Received)
	}
}

// match does the action to a URL that matches the pattern of t: in a task of its own, or here if there
// is one at a time, so that it is done before what the user wrote after the pattern.
func (b *batch) match(ctx context.Context, t *task, j *job.Job) error {
	if b.app.serial() {
		e := b.do(ctx, &task{Job: j, number: t.number, place: t.place})
		if e.res != nil {
			b.received.Add(e.res.Received)
		}
		b.app.came(e)
		if e.report != nil {
			e.report()
		}
		if e.err != nil {
			b.app.fail(j.URL.Redacted(), e.err)
		}
		if e.err != nil && ctx.Err() != nil {
			return errReported
		}
		return nil
	}
	if !t.pattern {
		t.pattern = true
		b.patterns.Add(1)
		schedule.Release(ctx)
	}
	b.app.con.Expect(1)
	select {
	case b.matches <- j:
		return nil
	case <-ctx.Done():
		return errReported
	}
}

// maxTurns is how many tasks may wait until those before them have ended.
const maxTurns = 10_000

// turns lets what tasks have to tell be told as they end or, if it is ordered, in the order in
// which they were given.
type turns struct {
	ordered bool
	mu      sync.Mutex
	next    int
	waiting map[int]func()
	moved   chan struct{} // closed when next moves; nil if nobody waits for that
}

// take calls tell when it is the turn of the task with that number, perhaps in another task's.
func (t *turns) take(number int, tell func()) {
	if !t.ordered {
		tell()
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = make(map[int]func())
	}
	t.waiting[number] = tell
	for tell := t.waiting[t.next]; tell != nil; tell = t.waiting[t.next] {
		delete(t.waiting, t.next)
		tell()
		t.next++
	}
	if t.moved != nil {
		close(t.moved)
		t.moved = nil
	}
}

// wait waits until the task with that number is not too far ahead of what was told last.
func (t *turns) wait(ctx context.Context, number int) error {
	for t.ordered {
		t.mu.Lock()
		if number-t.next < maxTurns {
			t.mu.Unlock()
			break
		}
		if t.moved == nil {
			t.moved = make(chan struct{})
		}
		moved := t.moved
		t.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
