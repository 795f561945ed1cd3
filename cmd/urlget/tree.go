package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

// mirror retrieves the tree that starts at seeds.
func (a *app) mirror(ctx context.Context, seeds []seed) error {
	if len(seeds) == 0 || a.opts.Many.FailFast && a.exit.status() != exitOK {
		return nil
	}
	urls, args := seedURLs(seeds)
	opts, err := a.mirrorOptions(seeds)
	if err != nil {
		return err
	}
	if a.typedFlag("continue") && a.opts.Archive.WARC == "" {
		a.say("-c is not needed: an interrupted tree resumes automatically")
	}
	a.showTree(opts)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var received atomic.Int64
	quota := int64(a.opts.Many.Quota)
	opts.Ended = func(e mirror.Event) {
		if e.Outcome == job.Failed && ctx.Err() != nil && context.Cause(ctx) == errFailFast {
			return // canceled because another URL failed
		}
		pos, number := args(e)
		a.reportVisit(e, pos, number)
		a.saveErrorPage(ctx, e)
		switch e.Outcome {
		case job.Saved:
			received.Add(e.Size)
		case job.Failed:
			if a.opts.Many.FailFast {
				cancel(errFailFast)
			}
		}
	}
	opts.Crawl.Enough = func() bool { return quota > 0 && received.Load() >= quota }
	begun := time.Now()
	report, err := mirror.Run(ctx, a.files, urls, opts)
	a.summarize(report, err, time.Since(begun))
	if e := (*fetch.Error)(nil); errors.Is(err, mirror.ErrTooManyGone) && errors.As(err, &e) {
		e.Hint = "if the files are really gone, use --delete=100% to delete them"
	}
	switch {
	case errors.Is(err, crawl.ErrEnough):
		a.say("the quota of %d bytes is reached: run the same command again to resume", quota)
		return nil
	case err != nil && context.Cause(ctx) == errFailFast:
		return nil // failures have been reported
	case err != nil && (ctx.Err() != nil || fetch.CodeOf(err) == fetch.ErrFile) && (report.Received+report.Saved+report.Unchanged+report.Listed > 0 || report.Continued):
		a.say("run the same command again to resume")
	}
	return err
}

// mirrorOptions returns the options of a mirror that starts at seeds.
func (a *app) mirrorOptions(seeds []seed) (*mirror.Options, error) {
	t, r := &a.opts.Tree, a.runner()
	scope, err := a.opts.Scope()
	if err != nil {
		return nil, err
	}
	opts := &mirror.Options{
		Crawl:       crawl.Options{Scope: *scope, Schedule: a.treeSchedule(seeds), NoRobots: t.NoRobots, Sitemaps: t.Sitemaps, MaxRedirects: a.opts.Network.MaxRedirect},
		Layout:      *t.Layout(),
		State:       t.State,
		DeleteShare: int(t.Delete),
		Newer:       t.Mirror || a.opts.Output.Newer,
		Keep:        a.opts.Output.NoClobber,
		Delete:      t.Delete > 0,
		Spider:      t.Spider,
		Convert:     t.Convert,
		Originals:   t.Originals,
		Extend:      t.AdjustExtension,
		Retry:       r.Retry,
		Retrying: func(ctx context.Context, u uri.URI, failed int, wait time.Duration, err error) {
			a.reportRetry(treeVisitOf(ctx).Transfer, u, failed, wait, err)
		},
	}
	opts.Crawl.Left = func(l crawl.Link, why crawl.Reason) {
		switch {
		case why == crawl.NeedsForm:
			a.say("not followed: %s: %s", l.URL.Redacted(), why.Text())
		case !a.opts.Report.Verbose:
		case l.Kind == fetch.EntryError:
			a.say("not followed: a link of %s: %s", l.From.Redacted(), fetch.Printable(l.Text))
		case why != crawl.NoTarget && why != crawl.ParentListing:
			a.say("not followed: %s: %s", l.URL.Redacted(), why.Text())
		}
	}
	return opts, nil
}

// summarize prints the outcome of a mirror.
func (a *app) summarize(report *mirror.Report, err error, took time.Duration) {
	a.tally.addBytes(report.Received)
	for _, k := range report.Kept {
		files := "1 file"
		if k.Files != 1 {
			files = fmt.Sprintf("%d files", k.Files)
		}
		a.say("kept %s of %s: %s", files, k.URL, k.Reason)
	}
	if a.opts.Report.Quiet || a.opts.Report.JSON {
		return
	}
	if report.Listed > 0 && report.Saved+report.Unchanged+report.Failed == 0 && err == nil && !a.opts.Tree.Spider {
		a.say("no files were saved: the listings lead to none")
	}
	least := 2
	if report.Saved+report.Failed == 0 && err == nil && !a.opts.Tree.Spider {
		least = 1 // nothing else was printed
	}
	io.WriteString(a.con.Prose(), a.tally.summary(took, a.con.Paint, least))
}

// A seed is a start URL of a tree, with its argument number and its position in a list.
type seed struct {
	url    uri.URI
	number int
	pos    string // FILE:LINE; "" for arguments
}

// seedURLs returns the start URLs and a function that returns the seed for the URL of an event. Other
// URLs of a tree are numbered after all seeds.
func seedURLs(seeds []seed) ([]uri.URI, func(mirror.Event) (pos string, number int)) {
	urls := make([]uri.URI, len(seeds))
	first := make(map[string]seed, len(seeds))
	for i, s := range seeds {
		urls[i] = s.url
		if _, twice := first[s.url.Key()]; !twice {
			first[s.url.Key()] = s
		}
	}
	return urls, func(e mirror.Event) (string, int) {
		if e.From.IsZero() {
			if s, ok := first[e.URL.Key()]; ok {
				return s.pos, s.number
			}
		}
		return "", math.MaxInt
	}
}

// reportVisit reports the outcome of one URL of a tree. For failures it names the argument or list
// line that the URL came from.
func (a *app) reportVisit(e mirror.Event, pos string, number int) {
	url := e.URL.WithoutUserinfo().String()
	a.con.Count(func(n *tty.TreeCount) {
		switch e.Outcome {
		case job.Failed:
			n.Failed++
		case mirror.Deleted:
		default:
			n.Done++
		}
	})
	if e.Outcome == job.Failed {
		if a.opts.Tree.Spider && !e.From.IsZero() {
			pos = e.From.Redacted() // the page with the broken link
		}
		a.failed(number, pos, url, e.Err)
		return
	}
	path := ""
	if e.Path != "" {
		path = filepath.Join(cmp.Or(a.out.dir, "."), filepath.FromSlash(e.Path))
	}
	res := &job.Result{URL: url, Outcome: e.Outcome, Status: e.Status, Size: e.Size, Received: e.Received, Elapsed: e.Elapsed, Proof: e.Proof, FramedByClose: e.FramedByClose}
	switch e.Outcome {
	case mirror.Deleted:
		a.emit(render.Deleted{URL: url, Path: path})
		a.say("deleted %s, which is gone from the server", fetch.Printable(path))
		return
	case job.Saved:
		from := ""
		if a.logged {
			from = " from " + url
		}
		a.say("saved %s (%s)%s", fetch.Printable(path), sizeText(e.Size), from)
		if a.opts.Report.Verbose {
			a.sayProof(fetch.Printable(path), res)
		}
	case job.Listed, job.Unchanged, job.NoContent:
	default:
		res.Outcome = job.Skipped
	}
	ev := res.Event(path)
	if e.Err != nil {
		a.say("%s is a directory: skipped", url)
	}
	if res.Outcome == job.Skipped && path == "" {
		ev.Reason = "not_wanted"
	}
	if !e.Target.IsZero() {
		ev.Reason, ev.FinalURL = "moved", e.Target.String()
		a.emit(render.End(ev))
		if a.opts.Report.Verbose {
			a.say("%s redirects to %s", url, e.Target)
		}
		return
	}
	a.emit(render.End(ev))
	if a.opts.Tree.Spider && e.From.IsZero() {
		a.say("%s exists", url)
	} else if a.opts.Report.Verbose && e.Err == nil && e.Outcome != job.Saved && e.Outcome != job.Listed {
		a.say("%s: %s", url, strings.ReplaceAll(string(e.Outcome), "_", " "))
	}
	a.tally.add(&job.Result{Outcome: e.Outcome})
}

// saveErrorPage saves the body of an error response at the place of the content, with
// --content-on-error.
func (a *app) saveErrorPage(ctx context.Context, e mirror.Event) {
	failure := (*fetch.Error)(nil)
	if !a.opts.Output.ErrorContent || a.opts.Tree.Spider || e.Outcome != job.Failed || !errors.As(e.Err, &failure) || len(failure.Body) == 0 {
		return
	}
	j := &job.Job{URL: e.URL, Output: a.opts.Tree.Layout().Path(e.URL, a.client.Traits(e.URL)), Exists: download.Overwrite}
	a.errorContent(ctx, j, failure)()
}
