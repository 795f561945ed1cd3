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
		shown := x.begin(t.Job)
		res := x.runner.Run(tty.Following(ctx, shown), t.Job, x.hooks(ctx, t, shown, do))
		shown.End()
		if !x.net.dialog.fillIn(ctx, t.Job, res.Err) {
			return res
		}
	}
}

func (x *jobs) begin(j *job.Job) *tty.Transfer {
	shown := x.rep.con.Begin(x.barName(j, nil))
	shown.Retrieves(j.URL.Redacted())
	return shown
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

// hooks returns the callbacks that report the progress of a task.
func (x *jobs) hooks(ctx context.Context, t *task, shown *tty.Transfer, do responseFunc) *job.Hooks {
	j, url := t.Job, t.URL.Redacted()
	return &job.Hooks{
		Writer: x.out.writer,
		Response: func(resp *fetch.Response) error {
			if shown != nil {
				shown.Rename(x.barName(j, &resp.Meta))
			}
			x.processors.liftFor(&resp.Meta)
			return do(j, resp)
		},
		Listing:  func(resp *fetch.Response) error { return x.rep.printListing(j, resp) },
		Match:    func(m *job.Job) error { return t.batch.match(ctx, t, m) },
		Progress: x.rep.progress(j, shown),
		Retry: func(failed int, wait time.Duration, err error) {
			x.net.hosts.Failed(hostOf(j.URL), err)
			x.rep.reportRetry(shown, j.URL, failed, wait, err)
		},
		Reuse: func(proof string) {
			if x.opts.Report.Verbose {
				x.rep.say("%s: resuming: %s", url, proof)
			}
		},
		Restart: func(reason string) { x.rep.say("%s: starting from the beginning: %s", url, reason) },
	}
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
	case isContradiction(res.Err) && x.opts.Output.Continue:
		return name + " is kept; without -c, the transfer starts over"
	case kept == "":
		return ""
	case x.opts.Output.Continue:
		return kept + "; use the same command to resume"
	}
	return kept + "; use -c to resume"
}

func isContradiction(err error) bool {
	var e *fetch.Error
	return errors.As(err, &e) && e.Reason.Kind == fetch.ReasonContradiction
}

// kept says how much of a failed transfer a partial file keeps, or returns "" if there is none.
func (x *jobs) kept(j *job.Job, res *job.Result) string {
	path := x.unfinished(j, res)
	if path == "" {
		return ""
	}
	bytes, written := x.files.Partial(filepath.ToSlash(path))
	if bytes == 0 || written.Before(res.Started.Truncate(time.Second)) {
		return ""
	}
	return tty.SizeWord(float64(bytes)) + " are kept in " +
		filepath.Join(x.out.dir, download.PartialName(path))
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
