package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
)

// A verb is what a command does with each URL.
type verb func(ctx context.Context, t *task) outcome

// A batch holds the URLs of one run: the arguments, the lines of the input file, and the matches of
// patterns. It is the source of the scheduler's tasks.
type batch struct {
	opts     *flags.Options
	rep      *reporter
	jobs     *jobs
	verb     verb
	source   source
	template *template
	cancel   context.CancelCauseFunc
	patterns patterns
	stopped  atomic.Bool // --fail-fast, after a failure
	quota    quota
	number   int // number of tasks created
	output   outputQueue
}

// A task is the processing of one URL: an argument, a line of the list, or a match of a pattern.
type task struct {
	*job.Job
	batch   *batch
	number  int                // position in the run
	pos     string             // FILE:LINE of the list, or ""
	lock    *download.Manifest // the line of the lock file, or nil
	pattern bool               // the URL turned out to be a pattern
}

type outcome struct {
	res    *job.Result // nil if no job ran
	kept   string      // says what an interrupted transfer keeps for another run; "" if nothing
	err    error
	report func() // prints everything except err; may be nil
}

func failed(err error) outcome { return outcome{err: err} }

// patterns are the URLs that turned out to be patterns and are being expanded.
type patterns struct {
	running atomic.Int32
	matches chan *job.Job
	ended   chan struct{} // signaled when a pattern is fully expanded
}

func (p *patterns) end() {
	p.running.Add(-1)
	select {
	case p.ended <- struct{}{}:
	default:
	}
}

// A quota limits the bytes of a run: when it is reached, no more transfers are started.
type quota struct {
	received atomic.Int64 // bytes
	reported atomic.Bool  // a message was printed
}

// errFailFast ends a run after its first failure.
var errFailFast = &fetch.Error{Code: fetch.ErrInterrupted, Err: errors.New("another transfer failed")}

// errReported is returned for an error that has been reported.
var errReported = errors.New("reported")

// run does v with each URL of the arguments, then with those of the list.
func (b *batch) run(ctx context.Context, v verb) error {
	b.verb, b.jobs.net.hosts = v, newScheduler(b.jobs)
	ctx, b.cancel = context.WithCancelCause(ctx)
	defer b.cancel(nil)
	b.patterns.matches, b.patterns.ended = make(chan *job.Job), make(chan struct{}, 1)
	b.output.ordered = b.opts.Report.Quiet || b.opts.Report.JSON || b.template.locking
	if err := b.source.open(ctx, b.jobs); err != nil {
		return err
	}
	defer b.source.close()
	b.rep.con.Expect(len(b.source.args))
	go b.source.read(ctx, b.jobs)
	err := b.jobs.net.hosts.Run(ctx, b.nextTask)
	switch {
	case ctx.Err() == nil:
		return err
	case b.rep.exit.status() != exitOK: // already reported
		return nil
	}
	return context.Cause(ctx)
}

// seeds returns the start URLs of a tree, or none after a failure with --fail-fast.
func (b *batch) seeds(ctx context.Context) ([]seed, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := b.source.open(ctx, b.jobs); err != nil {
		return nil, err
	}
	defer b.source.close()
	go b.source.read(ctx, b.jobs)
	var seeds []seed
	for {
		select {
		case g, more := <-b.source.arguments:
			if !more {
				return seeds, b.source.err
			}
			number := b.next()
			subject, j, err := b.template.parseArgument(g)
			if err == nil {
				seeds = append(seeds, seed{j.URL, number, g.pos})
				continue
			}
			b.rep.failed(number, g.pos, subject, err)
			if b.opts.Many.FailFast {
				return nil, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (b *batch) nextTask(ctx context.Context, _ func(string) bool) (schedule.Task, error) {
	if err := b.output.wait(ctx, b.number); err != nil {
		return schedule.Task{}, err
	}
	for {
		if b.overQuota() {
			return schedule.Task{}, io.EOF
		}
		more := b.source.arguments
		if more == nil && b.patterns.running.Load() == 0 {
			return schedule.Task{}, schedule.ErrNone // a task may still turn out to be a pattern
		}
		select {
		case j := <-b.patterns.matches:
			return b.schedule(&task{Job: j}), nil
		case <-b.patterns.ended:
		case g, ok := <-more:
			if ok {
				return b.argumentTask(ctx, g), nil
			}
			b.source.arguments = nil
			if b.source.err != nil {
				return schedule.Task{}, b.source.err
			}
		case <-ctx.Done():
			return schedule.Task{}, context.Cause(ctx)
		}
	}
}

func (b *batch) overQuota() bool {
	limit := b.opts.Many.Quota
	if limit == 0 || b.quota.received.Load() < limit {
		return false
	}
	if !b.quota.reported.Swap(true) {
		b.rep.say("the quota of %d bytes is reached: no more transfers are started", limit)
	}
	return true
}

func (b *batch) argumentTask(ctx context.Context, g argument) schedule.Task {
	subject, j, err := b.template.newJob(ctx, g)
	if err != nil {
		number, pos := b.next(), g.pos
		return schedule.Task{Do: func(context.Context) error {
			b.end(number, pos, subject, failed(err))
			return schedule.ErrNoVerdict
		}}
	}
	return b.schedule(&task{Job: j, pos: g.pos, lock: g.lock})
}

func (b *batch) next() int {
	b.number++
	return b.number - 1
}

// schedule returns the scheduler's task for t, and numbers t.
func (b *batch) schedule(t *task) schedule.Task {
	t.batch, t.number = b, b.next()
	serial, host := b.jobs.serial(), "all" // one host for all URLs keeps their order
	if !serial {
		host = hostOf(t.URL)
	}
	var ahead *fetch.Request
	if s, _ := b.jobs.client.Scheme(t.URL.Scheme()); s.Pipelined && t.Op == fetch.OpGet {
		ahead = &fetch.Request{URL: t.URL, From: t.From}
	}
	return schedule.Task{Host: host, Request: ahead, Do: func(ctx context.Context) error {
		if b.overQuota() || ctx.Err() != nil { // not begun
			b.end(t.number, "", "", outcome{})
			return schedule.ErrNoVerdict
		}
		limited, cancel := b.withMaxTime(ctx)
		defer cancel()
		out := b.verb(limited, t)
		if t.pattern {
			b.patterns.end()
		}
		if out.res != nil {
			b.quota.received.Add(out.res.Received)
		}
		b.end(t.number, t.pos, t.URL.Redacted(), out)
		if out.res == nil || serial { // the pause is for one host only
			return schedule.ErrNoVerdict
		}
		return out.res.Err
	}}
}

func (b *batch) withMaxTime(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := b.opts.Network.MaxTime
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit,
		&fetch.Error{Code: fetch.ErrNetwork, Err: fmt.Errorf("not finished within %v (--max-time)", limit)})
}

// end reports the outcome of a task when the output order allows it.
func (b *batch) end(number int, pos, subject string, e outcome) {
	stop := e.err != nil && b.opts.Many.FailFast
	b.output.add(number, func() { b.report(number, pos, subject, e) })
	if stop && !b.stopped.Swap(true) {
		b.cancel(errFailFast)
	}
}

// report reports an outcome. An interruption because another task failed is not reported.
func (b *batch) report(number int, pos, subject string, e outcome) {
	if e.err != nil && e.res != nil { // saved bytes are counted when the file is reported
		b.rep.tally.addBytes(e.res.Received)
	}
	if e.report != nil {
		e.report()
	}
	interrupted := fetch.CodeOf(e.err) == fetch.ErrInterrupted
	switch {
	case e.err == nil || interrupted && b.stopped.Load():
	case e.res != nil && interrupted:
		b.rep.interrupted(number, pos, subject, b.jobs.out.dir, e)
	default:
		b.rep.failed(number, pos, subject, e.err)
	}
}

// match does the verb with a URL that matches the pattern of t. It queues a new task, or does it
// directly if transfers are serial, to keep the order of the arguments.
func (b *batch) match(ctx context.Context, t *task, j *job.Job) error {
	if j.Op == fetch.OpList {
		b.rep.say("%s is a directory: skipped", j.URL.Redacted())
		return nil
	}
	if b.jobs.serial() {
		e := b.verb(ctx, &task{Job: j, batch: b, number: t.number, pos: t.pos})
		if e.res != nil {
			b.quota.received.Add(e.res.Received)
		}
		b.report(-1, "", j.URL.Redacted(), e)
		if e.err != nil && ctx.Err() != nil {
			return errReported
		}
		return nil
	}
	if !t.pattern {
		t.pattern = true
		b.patterns.running.Add(1)
		b.jobs.net.hosts.Release(ctx)
	}
	b.rep.con.Expect(1)
	select {
	case b.patterns.matches <- j:
		return nil
	case <-ctx.Done():
		return errReported
	}
}
