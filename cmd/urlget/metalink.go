package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"path"
	"strings"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/metalink"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

// metalink retrieves the files described by a Metalink document, or the resource itself from mirrors
// announced by its server. If there are neither, ok is false.
func (a *app) metalink(ctx context.Context, t *task) (e outcome, ok bool) {
	j := t.Job
	files, from, err := a.describedBy(ctx, j)
	switch {
	case err != nil:
		return failed(err), true
	case len(files) == 0:
		return outcome{}, false
	case len(files) > 1 && j.Output != "" && !strings.HasSuffix(j.Output, "/"):
		return failed(failure.Hinted(fmt.Sprintf("-O names one file, but the Metalink document has %d", len(files)), "use -P DIR to save them in a directory")), true
	}
	var last outcome
	var saved []*job.Result
	last.report = func() {
		for _, res := range saved {
			a.report(j, res)
		}
	}
	for i := range files {
		res := a.fromSources(ctx, t, &files[i], from)
		if res.Err == nil {
			saved, last.res = append(saved, res), res
			continue
		}
		if last.err != nil {
			a.fail(j.URL.Redacted(), last.err)
		}
		last.err = res.Err
		if ctx.Err() != nil {
			break
		}
	}
	return last, true
}

// maxDescription limits the time to read a Metalink document. The parser limits its size.
const maxDescription = time.Minute

// describedBy requests the URL of j and returns the files described by the response.
func (a *app) describedBy(ctx context.Context, j *job.Job) (files []metalink.File, from uri.URI, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxDescription)
	defer cancel()
	files, resp, err := a.described(ctx, &fetch.Request{URL: j.URL, From: j.From})
	if err != nil || files != nil {
		return files, resp.URL, err
	}
	f := metalink.FromHeader(resp.URL, resp.Header)
	if f == nil {
		return nil, resp.URL, nil
	}
	f.Name, f.Size = download.Name(j.URL, &resp.Meta), resp.Size
	for _, d := range f.Descriptions {
		more, about, err := a.described(ctx, &fetch.Request{URL: d.URL, From: resp.URL})
		switch {
		case err == nil && more == nil:
			err = &fetch.Error{Op: "get", URL: about.URL.Redacted(), Code: fetch.ErrProtocol, Err: errors.New("not a Metalink document")}
		case err == nil:
			err = f.Describe(more, d.Name)
		}
		if err == nil {
			return []metalink.File{*f}, resp.URL, nil
		}
		if ctx.Err() != nil {
			return nil, resp.URL, err
		}
		a.say("%s: %s; it is ignored", d.URL.Redacted(), render.ErrorText(plainError(err)))
	}
	return []metalink.File{*f}, resp.URL, nil
}

// described sends a request and returns the files if the response is a Metalink document. It closes
// the body.
func (a *app) described(ctx context.Context, req *fetch.Request) (files []metalink.File, resp *fetch.Response, err error) {
	resp = &fetch.Response{URL: req.URL}
	err = download.Retry(ctx, a.runner().Retry, func() error {
		got, err := a.client.Do(ctx, req)
		if err != nil {
			return err
		}
		defer got.Body.Close()
		resp = got
		if kind, _, _ := mime.ParseMediaType(got.ContentType); kind != metalink.MediaType && !strings.HasSuffix(got.URL.Path(), ".meta4") {
			return nil
		}
		if files, err = metalink.Parse(got.Body); err != nil && fetch.CodeOf(err) == "" {
			err = &fetch.Error{Op: "get", URL: got.URL.Redacted(), Code: fetch.ErrProtocol, Err: err}
		}
		return err
	})
	return files, resp, err
}

// fromSources saves one file from its sources.
func (a *app) fromSources(ctx context.Context, t *task, file *metalink.File, from uri.URI) *job.Result {
	return a.saveSources(ctx, t, file.Name, func(ctx context.Context, name string, opts *download.Sources) (*download.Result, error) {
		opts.From = from
		return a.files.DoSources(ctx, file, name, opts)
	})
}

// saveSources saves a file that has several sources by do. Its own name is used if the job has none.
func (a *app) saveSources(ctx context.Context, t *task, own string, do func(context.Context, string, *download.Sources) (*download.Result, error)) *job.Result {
	j, named := t.Job, *t.Job
	named.Output = cmp.Or(j.Output, own)
	shown := a.con.Begin(path.Base(named.Output))
	defer shown.End()
	ctx = tty.Following(ctx, shown)
	hooks := a.hooks(ctx, &task{Job: &named, number: t.number, pos: t.pos}, shown)
	url := j.URL.Redacted()
	res := &job.Result{URL: url, Op: j.Op, Started: time.Now(), Size: -1}
	opts := &download.Sources{Dropped: func(u uri.URI, err error) {
		a.say("%s: %s; the source is not used again", u.Redacted(), render.ErrorText(plainError(err)))
	}}
	r := a.runner()
	opts.Options = download.Options{Exists: j.Exists, Retry: r.Retry, Segments: j.Segments, Checksum: j.Checksum,
		SHA256: r.SHA256, Progress: hooks.Progress, Reuse: hooks.Reuse, Restart: hooks.Restart}
	opts.Retry.Report = hooks.Retry
	name := strings.TrimPrefix(j.Output, "./")
	if dir, ok := strings.CutSuffix(name, "/"); ok {
		opts.Dir, name = dir, ""
	}
	got, err := do(ctx, name, opts)
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
