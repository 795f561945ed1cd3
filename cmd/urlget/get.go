package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
)

func runCat(p *program, cmd *cobra.Command, args []string) error {
	p.opts.Output.Document = "-"
	p.opts.Report.Quiet = p.opts.Report.Quiet || !p.opts.Report.Verbose
	return runGet(p, cmd, args)
}

func runGet(p *program, cmd *cobra.Command, args []string) error {
	how := settings{op: fetch.OpGet, saves: cmd.Name() != "cat"}
	if p.opts.Lock.File != "" {
		var err error
		if how.locks, err = openLocked(p.opts, p.rep.std.in, args); err != nil {
			return err
		}
	}
	ctx, b, err := p.open(cmd, args, how)
	if err != nil {
		return err
	}
	g := &getter{opts: p.opts, rep: p.rep, jobs: b.jobs}
	if err := g.prepare(b.template.flags); err != nil {
		return err
	}
	if p.opts.Tree.On() && !p.opts.Mail.Compose {
		seeds, err := b.seeds(ctx)
		if err != nil {
			return err
		}
		t := &tree{p.opts, p.rep, b.jobs}
		return t.mirror(ctx, seeds)
	}
	return b.runSaving(ctx, g.do)
}

// A getter saves a document, prints a listing or attaches a session.
type getter struct {
	opts *flags.Options
	rep  *reporter
	jobs *jobs
	hook responseFunc // the method response
}

func (g *getter) prepare(j *job.Job) error {
	g.rep.steps = !g.opts.Mail.Parts
	g.hook = g.response
	if g.opts.Mail.Compose || g.opts.Mail.Parts {
		g.jobs.out.writer = g.rep.std.out
		return nil
	}
	if err := g.jobs.openOutput(); err != nil {
		return err
	}
	switch out := &g.jobs.out; {
	case out.stream != "":
		j.Output = "-"
	case out.name != "":
		j.Output = "./" + out.name
	}
	if wrong := (*job.FieldError)(nil); errors.As(j.Validate(), &wrong) {
		return failure.Usagef("-O: %s", wrong.Reason) // everything else is valid
	}
	return nil
}

func (g *getter) do(ctx context.Context, t *task) outcome {
	if out, done := g.withoutJob(ctx, t); done {
		return out
	}
	return g.outcome(ctx, t, g.jobs.retrieve(ctx, t, g.hook))
}

// withoutJob handles a task that needs no job, or more than one, and reports whether it did.
func (g *getter) withoutJob(ctx context.Context, t *task) (outcome, bool) {
	j := t.Job
	if g.opts.Mail.Compose {
		return failed(g.rep.compose(j.URL)), true
	}
	if g.opts.Tree.Force && j.Output == "" {
		j.Output = g.opts.Tree.Layout().Path(j.URL, g.jobs.client.Traits(j.URL))
	}
	if g.rep.events != nil {
		g.rep.emit(render.Start{URL: j.URL.Redacted()})
	}
	switch {
	case t.lock != nil:
		return g.getLocked(ctx, t), true
	case g.opts.Many.Metalink:
		return g.metalink(ctx, t)
	}
	return outcome{}, false
}

// outcome returns the outcome of a task whose job has ended, or attaches the session that the URL names.
func (g *getter) outcome(ctx context.Context, t *task, res *job.Result) outcome {
	j := t.Job
	if res.Err == errReported {
		return outcome{}
	}
	if res.Class == fetch.ErrInteractive && !g.opts.Mail.Extracts() && !g.opts.Mail.Parts {
		if scheme, _ := g.jobs.client.Scheme(j.URL.Scheme()); scheme.Can(fetch.OpDial) {
			return failed(attachSession(ctx, g.jobs, j))
		}
	}
	if res.Outcome != job.Failed {
		return outcome{res: res, report: func() { g.report(j, res) }}
	}
	switch e, _ := errors.AsType[*fetch.Error](res.Err); {
	case e == nil:
	case g.opts.Output.ErrorContent && len(e.Body) > 0:
		return outcome{res: res, err: res.Err, report: g.jobs.saveErrorPage(j, e)}
	case e.Reason.File != "":
		e.Reason.File = g.jobs.out.path(e.Reason.File)
	case e.Hint == "":
		e.Hint = cmp.Or(g.jobs.resumeHint(j, res), g.jobs.removedDirHint(e))
	}
	return outcome{res: res, err: res.Err, kept: g.jobs.kept(j, res)}
}

func (g *getter) response(j *job.Job, resp *fetch.Response) error {
	switch {
	case g.opts.Mail.Parts:
		return cmp.Or(g.rep.printParts(j, resp), job.ErrTaken)
	case g.printsContent(j) && resp.Kind == fetch.KindObject:
		return cmp.Or(g.rep.printText(resp), job.ErrTaken)
	}
	return g.jobs.observe(j, resp)
}

// printsContent reports whether the response to j is printed: for query protocols such as whois,
// unless a flag requires a file.
func (g *getter) printsContent(j *job.Job) bool {
	o := &g.opts.Output
	named := j.Output != "" || o.Dir != ""
	return flags.IsQuery(j.URL.Scheme()) && g.rep.events == nil && !named && !o.Continue && !o.Newer &&
		!o.NoClobber
}

func (g *getter) report(j *job.Job, res *job.Result) {
	rep, out := g.rep, &g.jobs.out
	if res.Outcome == job.Skipped && g.opts.Output.Document != "" {
		rep.exit.failed(-1, exitExists) // as wget does
	}
	rep.tally.count(res.Outcome, res.Received)
	silent := g.opts.Report.Quiet || out.stream == "-"
	if res.Outcome == job.Saved && g.opts.Output.SHA256 && rep.events == nil && silent {
		fmt.Fprintf(rep.con.Prose(), "%s: %s%s\n", res.URL, sizeText(res.Size), rep.digestText(res))
	}
	if out.stream == "-" {
		return // the content was printed
	}
	path := cmp.Or(out.stream, out.path(res.Path))
	switch res.Outcome {
	case job.Saved, job.NoContent, job.Listed, job.Skipped, job.Unchanged:
		if rep.events != nil {
			rep.emit(render.End(res.Event(path)))
		}
	}
	if rep.showsMessages() {
		g.sayOutcome(j, res, fetch.Printable(path))
	}
}

func (g *getter) sayOutcome(j *job.Job, res *job.Result, name string) {
	rep, from := g.rep, ""
	if rep.logged {
		from = " from " + res.URL
	}
	switch {
	case res.Outcome == job.Saved:
		rep.say("%s %s (%s in %.2f s%s)%s%s", rep.con.Paint.Good("saved"), name, sizeText(res.Size),
			res.Elapsed.Seconds(), rateText(res), rep.digestText(res), from)
		if g.opts.Report.Verbose {
			rep.sayProof(name, res)
		}
	case res.Outcome == job.NoContent:
		rep.say("%s has no content; no file is saved", res.URL)
	case res.Outcome != job.Skipped && res.Outcome != job.Unchanged:
	case j.Exists == download.Newer:
		rep.say("%s is up to date with %s", name, res.URL)
	default:
		rep.say("%s already exists%s", name, from)
	}
}
