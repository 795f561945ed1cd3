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
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/fetch/uri"
)

// metalink retrieves the files that a Metalink document describes, or the resource itself from the
// mirrors that its server names. Where there is nothing of the kind, ok is false.
func (g *getter) metalink(ctx context.Context, t *task) (e outcome, ok bool) {
	j := t.Job
	files, from, err := g.describedBy(ctx, j)
	switch {
	case err != nil:
		return failed(err), true
	case len(files) == 0:
		return outcome{}, false
	case len(files) > 1 && j.Output != "" && !strings.HasSuffix(j.Output, "/"):
		return failed(failure.Hinted(fmt.Sprintf("-O names one file, and the Metalink document has %d", len(files)), "-P DIR saves them below a directory")), true
	}
	var last outcome
	var saved []*job.Result
	last.report = func() {
		for _, res := range saved {
			g.report(j, res)
		}
	}
	for i := range files {
		res := g.fromSources(ctx, t, &files[i], from)
		if res.Err == nil {
			saved, last.res = append(saved, res), res
			continue
		}
		if last.err != nil {
			g.fail(j.URL.Redacted(), last.err)
		}
		last.err = res.Err
		if ctx.Err() != nil {
			break
		}
	}
	return last, true
}

// maxDescription bounds what is read of a document that may be a Metalink document, in time; its
// size is bounded by its parser.
const maxDescription = time.Minute

// describedBy asks for the URL of j, and returns the files that the answer describes.
func (g *getter) describedBy(ctx context.Context, j *job.Job) (files []metalink.File, from uri.URI, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxDescription)
	defer cancel()
	files, resp, err := g.described(ctx, &fetch.Request{URL: j.URL, From: j.From})
	if err != nil || files != nil {
		return files, resp.URL, err
	}
	f := metalink.FromHeader(resp.URL, resp.Header)
	if f == nil {
		return nil, resp.URL, nil
	}
	f.Name, f.Size = download.Name(j.URL, &resp.Meta), resp.Size
	for _, d := range f.Descriptions {
		more, about, err := g.described(ctx, &fetch.Request{URL: d.URL, From: resp.URL})
		switch {
		case err == nil && more == nil:
			err = &fetch.Error{Op: "get", URL: about.URL.Redacted(), Code: fetch.ErrProtocol, Err: errors.New("it is no Metalink document")}
		case err == nil:
			err = f.Describe(more, d.Name)
		}
		if err == nil {
			return []metalink.File{*f}, resp.URL, nil
		}
		if ctx.Err() != nil {
			return nil, resp.URL, err
		}
		g.say("%s: %s; it is not used", d.URL.Redacted(), render.Message(inWords(err)))
	}
	return []metalink.File{*f}, resp.URL, nil
}

// described makes a request. If the answer is a Metalink document, it returns the files; the body is
// closed in any case.
func (g *getter) described(ctx context.Context, req *fetch.Request) (files []metalink.File, resp *fetch.Response, err error) {
	resp = &fetch.Response{URL: req.URL}
	err = download.Retry(ctx, g.runner().Retry, func() error {
		got, err := g.client.Do(ctx, req)
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

// fromSources saves one file.
func (g *getter) fromSources(ctx context.Context, t *task, file *metalink.File, from uri.URI) *job.Result {
	j, named := t.Job, *t.Job
	named.Output = cmp.Or(j.Output, file.Name)
	shown := g.con.Begin(path.Base(named.Output))
	defer shown.End()
	ctx = tty.Following(ctx, shown)
	hooks := g.hooks(ctx, &task{Job: &named, number: t.number, place: t.place}, shown)
	url := j.URL.Redacted()
	res := &job.Result{URL: url, Op: j.Op, Started: time.Now(), Size: -1}
	opts := &download.Sources{From: from, Dropped: func(u uri.URI, err error) {
		g.say("%s: %s; it is not asked again", u.Redacted(), render.Message(inWords(err)))
	}}
	r := g.runner()
	opts.Options = download.Options{Exists: j.Exists, Retry: r.Retry, Segments: j.Segments, Checksum: j.Checksum,
		SHA256: r.SHA256, Progress: hooks.Progress, Reuse: hooks.Reuse, Restart: hooks.Restart}
	opts.Retry.Report = hooks.Retry
	name := strings.TrimPrefix(j.Output, "./")
	if dir, ok := strings.CutSuffix(name, "/"); ok {
		opts.Dir, name = dir, ""
	}
	got, err := g.files.DoSources(ctx, file, name, opts)
	res.Elapsed = time.Since(res.Started)
	if err != nil {
		res.Outcome, res.Err, res.Class = job.Failed, err, fetch.CodeOf(err)
		return res
	}
	res.Path, res.Size, res.Received, res.SHA256 = got.Name, got.Size, got.Written, got.SHA256
	if final := got.URL.Redacted(); final != url {
		res.FinalURL = final
	}
	res.Outcome = got.Outcome
	if got.Outcome == job.Unchanged && j.Exists == download.Resume {
		res.Outcome = job.Skipped
	}
	return res
}
