package main

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/metalink"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

// metalink retrieves the files described by a Metalink document, or the resource itself from mirrors
// announced by its server. If there are neither, ok is false.
func (g *getter) metalink(ctx context.Context, t *task) (e outcome, ok bool) {
	j := t.Job
	files, err := g.jobs.describedBy(ctx, j)
	switch {
	case err != nil:
		return failed(err), true
	case len(files) == 0:
		return outcome{}, false
	case len(files) > 1 && j.Output != "" && !strings.HasSuffix(j.Output, "/"):
		return failed(failure.Hinted(
			fmt.Sprintf("-O names one file, but the Metalink document has %d", len(files)),
			"use -P DIR to save them in a directory")), true
	}
	var last outcome
	var saved []*job.Result
	last.report = func() {
		for _, res := range saved {
			g.report(j, res)
		}
	}
	for i := range files {
		res := g.jobs.saveSources(ctx, t, &files[i], false)
		if res.Err == nil {
			saved, last.res = append(saved, res), res
			continue
		}
		if last.err != nil {
			g.rep.fail(j.URL.Redacted(), last.err)
		}
		last.err = res.Err
		if ctx.Err() != nil {
			break
		}
	}
	return last, true
}

func (x *jobs) describedBy(ctx context.Context, j *job.Job) ([]download.Manifest, error) {
	ignored := func(u uri.URI, err error) {
		x.rep.say("%s: %s; it is ignored", u.Redacted(), render.ErrorText(err))
	}
	return metalink.Find(ctx, x.client, &fetch.Request{URL: j.URL, From: j.From}, x.runner.Retry, ignored)
}

// saveSources saves a file that has several sources. Locked is true for a line of a lock file.
func (x *jobs) saveSources(ctx context.Context, t *task, m *download.Manifest, locked bool) *job.Result {
	j, named := t.Job, *t.Job
	named.Output = cmp.Or(j.Output, m.Name)
	hooks := x.begin(ctx, &task{Job: &named, batch: t.batch, number: t.number, pos: t.pos},
		path.Base(named.Output), nil)
	defer hooks.shown.End()
	ctx = hooks.ctx
	url := j.URL.Redacted()
	res := &job.Result{URL: url, Op: j.Op, Started: time.Now(), Size: -1}
	r := x.runner
	opts := &download.Options{Exists: j.Exists, Retry: r.Retry, Segments: j.Segments, Checksum: j.Checksum,
		SHA256: r.SHA256, Progress: hooks.Progress, Reuse: hooks.Reuse, Restart: hooks.Restart}
	opts.Retry.Report = hooks.Retry
	opts.Dropped = func(u uri.URI, err error) {
		x.rep.say("%s: %s; the source is not used again", u.Redacted(), render.ErrorText(err))
	}
	name := strings.TrimPrefix(j.Output, "./")
	if dir, ok := strings.CutSuffix(name, "/"); ok {
		opts.Dir, name = dir, ""
	}
	var got *download.Result
	var err error
	if locked {
		got, err = x.files.DoLocked(ctx, m, opts)
	} else {
		got, err = x.files.DoSources(ctx, m, name, opts)
	}
	res.Elapsed = time.Since(res.Started)
	if got != nil {
		res.Received = got.Written
	}
	if err != nil {
		res.Outcome, res.Err, res.Class = job.Failed, err, fetch.CodeOf(err)
		if got != nil {
			res.Unfinished = got.Name
		}
		return res
	}
	res.Path, res.Size, res.SHA256, res.Proof = got.Name, got.Size, got.SHA256, got.Proof
	if final := got.URL.Redacted(); final != url {
		res.FinalURL = final
	}
	res.Outcome = got.Outcome
	if got.Outcome == job.Unchanged && j.Exists == download.Resume {
		res.Outcome = job.Skipped
	}
	return res
}
