package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/internal/render"
)

// jobs runs the jobs of a command and reports their progress.
type jobs struct {
	opts       *flags.Options
	rep        *reporter
	net        *network
	client     *fetch.Client
	files      *download.Downloader
	runner     *job.Runner
	out        output
	processors processorLimit
	unused     sync.Pool // of *taskHooks
}

func newJobs(p *program, client *fetch.Client) *jobs {
	files := &download.Downloader{Client: client, Tool: "urlget " + programVersion(),
		Sync: p.opts.Output.Sync}
	x := &jobs{opts: p.opts, rep: p.rep, net: p.net, client: client, files: files,
		runner: newRunner(p.opts, files)}
	p.net.atEnd(x.closeFiles)
	return x
}

func newRunner(o *flags.Options, files *download.Downloader) *job.Runner {
	policy := retry.Policy{Tries: o.Network.Tries, MaxRetryAfter: o.Network.RetryWait}
	// The library replaces 0 by its defaults. For the user, 0 tries are unlimited, as in wget, and the
	// runner does not wait for a time of 0.
	if policy.Tries == 0 {
		policy.Tries = -1
	}
	policy.MaxRetryAfter = max(policy.MaxRetryAfter, 1)
	return &job.Runner{Downloader: files, Retry: policy, SHA256: o.Output.SHA256,
		ResumePart: o.Output.Continue && o.Output.Newer}
}

// serial reports whether transfers run one at a time, in argument order: with one job, or if all
// output goes to one stream.
func (x *jobs) serial() bool { return x.net.sequential || x.out.writer != nil }

// retrievable reports whether a driver, proxy or gateway can retrieve URLs of the scheme.
func (x *jobs) retrievable(scheme string) bool {
	s, ok := x.client.Scheme(scheme)
	return ok && s.Can(fetch.OpGet)
}

// retrieve runs the job of a task, and again for each form that the user fills in.
func (x *jobs) retrieve(ctx context.Context, t *task, do responseFunc) *job.Result {
	for {
		h := x.begin(ctx, t, x.barName(t.Job, nil), do)
		res := x.runner.Run(h.ctx, t.Job, &h.Hooks)
		h.shown.End()
		x.unused.Put(h)
		if !x.net.dialog.fillIn(ctx, t.Job, res.Err) {
			return res
		}
	}
}

// barName returns the file name of a job for the progress display, or "" without a display.
func (x *jobs) barName(j *job.Job, meta *fetch.Meta) string {
	switch {
	case !x.rep.con.Shown():
		return ""
	case x.out.name != "":
		return x.out.name
	case j.Output != "" && j.Output != "-" && !strings.HasSuffix(j.Output, "/"):
		return path.Base(j.Output)
	}
	return download.Name(j.URL, meta)
}

// A responseFunc gets each response to a job before its body is read.
type responseFunc func(*job.Job, *fetch.Response) error

// A taskHooks reports the progress of a task. It serves one task after another, because its functions
// would otherwise be allocated for each.
type taskHooks struct {
	job.Hooks
	ctx   context.Context // of the running job
	task  *task
	shown *tty.Transfer
	do    responseFunc
}

// begin shows a transfer under a name, and returns its callbacks.
func (x *jobs) begin(ctx context.Context, t *task, name string, do responseFunc) *taskHooks {
	h, _ := x.unused.Get().(*taskHooks)
	if h == nil {
		h = &taskHooks{Hooks: job.Hooks{Writer: x.out.writer}}
		h.Response = func(resp *fetch.Response) error {
			h.shown.Rename(x.barName(h.task.Job, &resp.Meta))
			x.processors.liftFor(&resp.Meta)
			return h.do(h.task.Job, resp)
		}
		h.Listing = func(resp *fetch.Response) error { return x.rep.printListing(h.task.Job, resp) }
		h.Match = func(m *job.Job) error { return h.task.batch.match(h.ctx, h.task, m) }
		h.Retry = func(failed int, wait time.Duration, err error) {
			x.net.hosts.Failed(hostOf(h.task.URL), err)
			x.rep.reportRetry(h.shown, h.task.URL, failed, wait, err)
		}
		say := func(what, why string) { x.rep.say("%s: %s: %s", h.task.URL.Redacted(), what, why) }
		if x.opts.Report.Verbose {
			h.Reuse = func(proof string) { say("resuming", proof) }
		}
		h.Restart = func(reason string) { say("starting from the beginning", reason) }
	}
	h.task, h.do, h.shown = t, do, x.rep.con.Begin(name)
	h.shown.Retrieves(t.URL.Redacted())
	h.ctx, h.Progress = tty.Following(ctx, h.shown), x.rep.progress(t.Job, h.shown)
	return h
}

// observe reports a response whose content is retrieved, or selects a part of it.
func (x *jobs) observe(j *job.Job, resp *fetch.Response) error {
	if err := extract(x.opts, j.URL, resp); err != nil {
		return err
	}
	if x.rep.events != nil {
		x.rep.emit(render.Response{URL: j.URL.Redacted(), Meta: &resp.Meta})
	}
	if len(j.Ranges) > 0 && resp.Reply.Code != http.StatusPartialContent {
		x.rep.say("%s: the server does not support this range: the complete content is retrieved",
			j.URL.Redacted())
	}
	return nil
}

// resumeHint returns the hint on resuming a failed transfer, or "" without a partial file.
func (x *jobs) resumeHint(j *job.Job, res *job.Result) string {
	path := x.unfinished(j, res)
	if path == "" {
		return ""
	}
	name := filepath.Join(x.out.dir, download.PartialName(path))
	info, err := os.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 && res.Class == fetch.ErrFile {
		return name + " is a symbolic link and is not followed; remove it and try again"
	}
	kept := x.kept(j, res)
	switch {
	case res.Reason.Kind == fetch.ReasonContradiction && x.opts.Output.Continue:
		return name + " is kept; without -c, the transfer starts over"
	case kept == "":
		return ""
	case x.opts.Output.Continue:
		return kept + "; use the same command to resume"
	}
	return kept + "; use -c to resume"
}

// kept says how much of a failed transfer a partial file keeps, or returns "" if there is none.
func (x *jobs) kept(j *job.Job, res *job.Result) string {
	path := x.unfinished(j, res)
	if path == "" {
		return ""
	}
	bytes, written := x.files.Partial(filepath.ToSlash(path))
	if bytes == 0 || isFromBefore(written, res.Started) {
		return ""
	}
	return tty.SizeWord(float64(bytes)) + " are kept in " +
		filepath.Join(x.out.dir, download.PartialName(path))
}

// isFromBefore reports whether a file was written before a transfer. Some file systems store whole seconds,
// and Linux stores the time of its last tick, up to 10 ms ago.
func isFromBefore(written, started time.Time) bool {
	return written.Before(started.Add(-10 * time.Millisecond).Truncate(time.Second))
}

// unfinished returns the path of the file that a failed transfer would have written, or "" if it does
// not write one.
func (x *jobs) unfinished(j *job.Job, res *job.Result) string {
	if j.Output == "-" || x.files.Root == nil {
		return ""
	}
	path := cmp.Or(res.Unfinished, j.Output)
	if path == "" {
		path = download.Name(j.URL, &fetch.Meta{ContentType: res.ContentType})
	}
	return filepath.FromSlash(path)
}

// removedDirHint returns the hint that the output directory was removed, or "" if it exists.
func (x *jobs) removedDirHint(err error) string {
	if !errors.Is(err, fs.ErrNotExist) || fetch.CodeOf(err) != fetch.ErrFile || x.out.stream != "" {
		return ""
	}
	dir, err := filepath.Abs(x.out.dir)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "the directory was removed; use -P DIR to save elsewhere"
}
