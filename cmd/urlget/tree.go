package main

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/fetch/uri"
)

// mirror retrieves the tree that begins at seeds.
func (g *getter) mirror(ctx context.Context, seeds []seed) error {
	if len(seeds) == 0 || g.opts.Many.FailFast && g.exit.status() != exitOK {
		return nil
	}
	urls, given := seedURLs(seeds)
	opts, err := g.mirrorOptions(seeds)
	if err != nil {
		return err
	}
	g.showTree(opts)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var received atomic.Int64
	quota := int64(g.opts.Many.Quota)
	opts.Ended = func(e mirror.Event) {
		if e.Outcome == job.Failed && ctx.Err() != nil && context.Cause(ctx) == errFailFast {
			return // it was broken off for another one
		}
		place, number := given(e)
		g.reportVisit(e, place, number)
		switch e.Outcome {
		case job.Saved:
			received.Add(e.Size)
		case job.Failed:
			if g.opts.Many.FailFast {
				cancel(errFailFast)
			}
		}
	}
	opts.Crawl.Enough = func() bool { return quota > 0 && received.Load() >= quota }
	begun := time.Now()
	report, err := mirror.Run(ctx, g.files, urls, opts)
	g.summarize(report, err, time.Since(begun))
	switch {
	case errors.Is(err, crawl.ErrEnough):
		g.say("the quota of %d bytes is reached: the same command goes on from here", quota)
		return nil
	case err != nil && context.Cause(ctx) == errFailFast:
		return nil // the user was told what failed
	case err != nil && (ctx.Err() != nil || fetch.CodeOf(err) == fetch.ErrFile) && (report.Received+report.Saved+report.Unchanged+report.Listed > 0 || report.Continued):
		g.say("the same command goes on from here")
	}
	return err
}

// mirrorOptions returns the options of a mirror that begins at seeds.
func (g *getter) mirrorOptions(seeds []seed) (*mirror.Options, error) {
	t, r := &g.opts.Tree, g.runner()
	scope, err := g.opts.Scope()
	if err != nil {
		return nil, err
	}
	opts := &mirror.Options{
		Crawl:     crawl.Options{Scope: *scope, Schedule: g.treeSchedule(seeds), NoRobots: t.NoRobots, Sitemaps: t.Sitemaps},
		Layout:    *t.Layout(),
		State:     t.State,
		Newer:     t.Mirror || g.opts.Output.Newer,
		Keep:      g.opts.Output.NoClobber,
		Delete:    t.Delete,
		Spider:    t.Spider,
		Convert:   t.Convert,
		Originals: t.Originals,
		Extend:    t.Extend,
		Retry:     r.Retry,
		Retrying: func(ctx context.Context, u uri.URI, failed int, wait time.Duration, err error) {
			g.reportRetry(treeVisitOf(ctx).Transfer, u, failed, wait, err)
		},
	}
	if g.opts.Report.Verbose {
		opts.Crawl.Left = func(l crawl.Link, why crawl.Reason) {
			if why != crawl.NoTarget && why != crawl.ParentListing {
				g.say("not followed: %s: %s", l.URL.Redacted(), why.Text())
			}
		}
	}
	return opts, nil
}

// summarize prints the outcome of a mirror.
func (g *getter) summarize(report *mirror.Report, err error, took time.Duration) {
	g.tally.came(report.Received)
	if report.Kept != "" {
		g.say("nothing was removed, as %s", report.Kept)
	}
	if g.opts.Report.Quiet || g.opts.Report.JSON {
		return
	}
	least := 2
	if report.Saved+report.Failed == 0 && err == nil {
		least = 1 // nothing else was printed about it
	}
	io.WriteString(g.con.Prose(), g.tally.summary(took, g.con.Paint, least))
}

// A seed is what the user gave for a tree to begin at: as which number and, in a list, where.
type seed struct {
	url    uri.URI
	number int
	place  string // FILE:LINE; "" for arguments
}

// seedURLs returns where trees begin, and a function that returns as what the user gave the URL of
// an event. What trees lead to counts as given after all that was.
func seedURLs(seeds []seed) ([]uri.URI, func(mirror.Event) (place string, number int)) {
	urls := make([]uri.URI, len(seeds))
	first := make(map[string]seed, len(seeds))
	for i, s := range seeds {
		urls[i] = s.url
		if _, twice := first[s.url.Key()]; !twice {
			first[s.url.Key()] = s
		}
	}
	return urls, func(e mirror.Event) (string, int) {
		if s, ok := first[e.URL.Key()]; ok && e.From.IsZero() {
			return s.place, s.number
		}
		return "", math.MaxInt
	}
}

// reportVisit reports the outcome of one URL of a tree. For failures it names the argument or list
// line that the URL came from.
func (g *getter) reportVisit(e mirror.Event, place string, number int) {
	url := e.URL.WithoutUserinfo().String()
	g.con.Count(func(n *tty.TreeCount) {
		switch e.Outcome {
		case job.Failed:
			n.Failed++
		case mirror.Deleted:
		default:
			n.Done++
		}
	})
	if e.Outcome == job.Failed {
		if g.opts.Tree.Spider && !e.From.IsZero() {
			place = e.From.Redacted() // where the link is to be mended
		}
		g.failed(number, place, url, e.Err)
		return
	}
	path := ""
	if e.Path != "" {
		path = filepath.Join(cmp.Or(g.out.dir, "."), filepath.FromSlash(e.Path))
	}
	res := &job.Result{URL: url, Outcome: e.Outcome, Status: e.Status, Size: e.Size, Received: e.Received, Elapsed: e.Elapsed}
	switch e.Outcome {
	case mirror.Deleted:
		g.emit(render.Event{Name: "deleted", URL: url, Path: path})
		g.say("deleted %s, which is gone", fetch.Printable(path))
		return
	case job.Saved:
		g.say("saved %s (%s)", fetch.Printable(path), sizeText(e.Size))
	case job.Listed, job.Unchanged, job.NoContent:
	default:
		res.Outcome = job.Skipped
	}
	ev := res.Event(path)
	if res.Outcome == job.Skipped && path == "" {
		ev.Reason = "not_wanted"
	}
	g.emit(ev)
	if g.opts.Report.Verbose && e.Outcome != job.Saved && e.Outcome != job.Listed {
		g.say("%s: %s", url, strings.ReplaceAll(string(e.Outcome), "_", " "))
	}
	g.tally.add(&job.Result{Outcome: e.Outcome})
}
