package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

type tree struct {
	opts *flags.Options
	rep  *reporter
	jobs *jobs
}

func (t *tree) mirror(ctx context.Context, seeds []seed) error {
	if len(seeds) == 0 || t.opts.Many.FailFast && t.rep.exit.status() != exitOK {
		return nil
	}
	urls, args := seedURLs(seeds)
	opts, err := t.mirrorOptions(seeds)
	if err != nil {
		return err
	}
	if t.jobs.net.typedFlag("continue") && t.opts.Archive.WARC == "" {
		t.rep.say("-c is not needed: an interrupted tree resumes automatically")
	}
	t.showTree(opts)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var received atomic.Int64
	quota := t.opts.Many.Quota
	opts.Ended = func(e mirror.Event) {
		if e.Outcome == job.Failed && ctx.Err() != nil && context.Cause(ctx) == errFailFast {
			return // canceled because another URL failed
		}
		pos, number := args(e)
		t.reportVisit(e, pos, number)
		if e.ErrorPage && e.Path != "" {
			t.rep.say("the error page was written to %s", fetch.Printable(t.jobs.out.path(e.Path)))
		}
		switch e.Outcome {
		case job.Saved:
			if e.Former == "" {
				received.Add(e.Size)
			}
		case job.Failed:
			if t.opts.Many.FailFast {
				cancel(errFailFast)
			}
		}
	}
	opts.Crawl.Enough = func() bool { return quota > 0 && received.Load() >= quota }
	begun := time.Now()
	report, err := mirror.Run(ctx, t.jobs.files, urls, opts)
	t.summarize(report, err, time.Since(begun))
	if e := (*fetch.Error)(nil); errors.Is(err, mirror.ErrTooManyGone) && errors.As(err, &e) {
		e.Hint = "if the files are really gone, use --delete=100% to delete them"
	}
	switch {
	case errors.Is(err, crawl.ErrEnough):
		t.rep.say("the quota of %d bytes is reached: run the same command again to resume", quota)
		return nil
	case err != nil && context.Cause(ctx) == errFailFast:
		return nil // failures have been reported
	case err != nil && (ctx.Err() != nil || fetch.CodeOf(err) == fetch.ErrFile) &&
		(report.Received+report.Saved+report.Unchanged+report.Listed > 0 || report.Continued):
		t.rep.say("run the same command again to resume")
	}
	return err
}

func (t *tree) mirrorOptions(seeds []seed) (*mirror.Options, error) {
	o := &t.opts.Tree
	scope, err := t.opts.Scope()
	if err != nil {
		return nil, err
	}
	asked := scope.SeedsOnly && !scope.Requisites // only URLs that the user named are requested
	opts := &mirror.Options{
		Crawl: crawl.Options{Scope: *scope, Schedule: treeSchedule(t.opts, seeds),
			NoRobots: o.NoRobots || asked, Sitemaps: o.Sitemaps, MaxRedirects: t.opts.Network.MaxRedirect},
		Layout:      *o.Layout(),
		State:       o.State,
		DeleteShare: o.Delete,
		Newer:       o.Mirror || t.opts.Output.Newer,
		Keep:        t.opts.Output.NoClobber,
		Delete:      o.Delete > 0,
		Spider:      o.Spider,
		ErrorPages:  t.opts.Output.ErrorContent,
		Convert:     o.Convert,
		Originals:   o.Originals,
		Extend:      o.AdjustExtension,
		Retry:       t.jobs.runner.Retry,
		Retrying: func(ctx context.Context, u uri.URI, failed int, wait time.Duration, err error) {
			t.rep.reportRetry(treeVisitOf(ctx).Transfer, u, failed, wait, err)
		},
	}
	opts.Unread = func(u uri.URI, contentType string) {
		const message = "%s: not read for links: the content type is %s"
		t.rep.say(message, u.Redacted(), fetch.Printable(contentType))
	}
	opts.NoAnchor = func(link, page uri.URI) {
		t.rep.con.Warn(fmt.Sprintf("%s: %s: the page has no such id", page.Redacted(), link.Redacted()))
	}
	opts.Crawl.Left = func(l crawl.Link, why crawl.Reason) {
		switch {
		case why == crawl.NeedsForm:
			t.rep.say("not followed: %s: %s", l.URL.Redacted(), why.Text())
		case !t.opts.Report.Verbose:
		case l.Kind == fetch.EntryError:
			t.rep.say("not followed: a link of %s: %s", l.From.Redacted(), fetch.Printable(l.Text))
		case why != crawl.NoTarget && why != crawl.ParentListing:
			t.rep.say("not followed: %s: %s", l.URL.Redacted(), why.Text())
		}
	}
	return opts, nil
}

func (t *tree) summarize(report *mirror.Report, err error, took time.Duration) {
	t.rep.tally.addBytes(report.Received)
	for _, k := range report.Kept {
		t.rep.say("kept %s of %s: %s", quantity(k.Files, "file"), k.URL, k.Reason)
	}
	if t.opts.Report.Quiet || t.opts.Report.JSON {
		return
	}
	if report.Listed > 0 && report.Saved+report.Unchanged+report.Failed == 0 && err == nil &&
		!t.opts.Tree.Spider {
		t.rep.say("no files were saved: the listings lead to none")
	}
	least := 2
	if report.Saved+report.Failed == 0 && err == nil && !t.opts.Tree.Spider {
		least = 1 // nothing else was printed
	}
	io.WriteString(t.rep.con.Prose(), t.rep.tally.summary(took, t.rep.con.Paint, least))
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
func (t *tree) reportVisit(e mirror.Event, pos string, number int) {
	if e.Former != "" {
		t.reportRename(e)
		return
	}
	url := e.URL.WithoutUserinfo().String()
	t.rep.con.Count(func(n *tty.TreeCount) {
		switch e.Outcome {
		case job.Failed:
			n.Failed++
		case mirror.Deleted:
		default:
			n.Done++
		}
	})
	if e.Outcome == job.Failed {
		if !e.From.IsZero() {
			pos = e.From.Redacted() // the page with the broken link
		}
		t.rep.failed(number, pos, url, e.Err)
		return
	}
	if e.Outcome != mirror.Deleted && e.Target.IsZero() {
		t.rep.tally.count(e.Outcome, 0)
	}
	if !t.rep.showsMessages() && t.rep.events == nil {
		return
	}
	path := ""
	if e.Path != "" {
		path = t.jobs.out.path(e.Path)
	}
	res := &job.Result{URL: url, Outcome: e.Outcome, Status: e.Status, Size: e.Size, Received: e.Received,
		Elapsed: e.Elapsed, Proof: e.Proof, FramedByClose: e.FramedByClose}
	switch e.Outcome {
	case mirror.Deleted:
		t.rep.emit(render.Deleted{URL: url, Path: path})
		t.rep.say("deleted %s, which is gone from the server", fetch.Printable(path))
		return
	case job.Saved:
		from := ""
		if t.rep.logged {
			from = " from " + url
		}
		t.rep.say("saved %s (%s)%s", fetch.Printable(path), sizeText(e.Size), from)
		if t.opts.Report.Verbose {
			t.rep.sayProof(fetch.Printable(path), res)
		}
	case job.Listed, job.Unchanged, job.NoContent:
	default:
		res.Outcome = job.Skipped
	}
	ev := res.Event(path)
	if e.Err != nil {
		t.rep.say("%s is a directory: skipped", url)
	}
	if res.Outcome == job.Skipped && path == "" {
		ev.Reason = "not_wanted"
	}
	if !e.Target.IsZero() {
		ev.Reason, ev.FinalURL = "moved", e.Target.String()
		t.rep.emit(render.End(ev))
		if t.opts.Report.Verbose {
			t.rep.say("%s redirects to %s", url, e.Target)
		}
		return
	}
	t.rep.emit(render.End(ev))
	if t.opts.Tree.Spider && e.From.IsZero() {
		t.rep.say("%s exists", url)
	} else if t.opts.Report.Verbose && e.Err == nil && e.Outcome != job.Saved && e.Outcome != job.Listed {
		t.rep.say("%s: %s", url, strings.ReplaceAll(string(e.Outcome), "_", " "))
	}
}

// reportRename reports a file that was saved and has made way for a directory since.
func (t *tree) reportRename(e mirror.Event) {
	path := t.jobs.out.path(e.Path)
	res := &job.Result{URL: e.URL.WithoutUserinfo().String(), Outcome: e.Outcome, Size: e.Size}
	t.rep.emit(render.End(res.Event(path)))
	t.rep.say("renamed %s to %s", fetch.Printable(t.jobs.out.path(e.Former)), fetch.Printable(path))
}

type treeVisitKey struct{}

type treeVisit struct {
	*tty.Transfer
	progress func(done, total int64) // or nil
}

func treeVisitOf(ctx context.Context) treeVisit {
	v, _ := ctx.Value(treeVisitKey{}).(treeVisit)
	return v
}

func (t *tree) showTree(opts *mirror.Options) {
	if !t.rep.con.Shown() && t.rep.events == nil && t.opts.Report.Progress != flags.ProgressJSON {
		return
	}
	t.rep.con.ShowTree()
	layout := t.opts.Tree.Layout()
	opts.Crawl.Waiting = func(waiting int64) {
		t.rep.con.Count(func(n *tty.TreeCount) { n.Waiting = waiting })
	}
	opts.Begin = func(ctx context.Context, u uri.URI) (context.Context, func()) {
		shown := t.rep.con.Begin(filepath.FromSlash(layout.Path(u, t.jobs.client.Traits(u))))
		shown.From(u.Host())
		v := treeVisit{shown, t.rep.progress(&job.Job{URL: u}, shown)}
		return tty.Following(context.WithValue(ctx, treeVisitKey{}, v), shown), shown.End
	}
	opts.Progress = func(ctx context.Context, path string, done, total int64) {
		if v := treeVisitOf(ctx); v.progress != nil {
			v.progress(done, total)
		}
	}
}
