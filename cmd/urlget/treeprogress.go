package main

import (
	"context"
	"path/filepath"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

type treeVisitKey struct{}

// A treeVisit is the progress display of one visit of a tree.
type treeVisit struct {
	*tty.Transfer
	progress func(done, total int64) // or nil
}

func treeVisitOf(ctx context.Context) treeVisit {
	v, _ := ctx.Value(treeVisitKey{}).(treeVisit)
	return v
}

// showTree shows the progress of a mirror with opts, if there is a display.
func (a *app) showTree(opts *mirror.Options) {
	if !a.con.Shown() && a.events == nil && a.opts.Report.Progress != flags.ProgressJSON {
		return
	}
	a.con.ShowTree()
	layout := a.opts.Tree.Layout()
	opts.Crawl.Waiting = func(waiting int64) { a.con.Count(func(n *tty.TreeCount) { n.Waiting = waiting }) }
	opts.Begin = func(ctx context.Context, u uri.URI) (context.Context, func()) {
		t := a.con.Begin(filepath.FromSlash(layout.Path(u, a.client.Traits(u))))
		t.From(u.Host())
		v := treeVisit{t, a.progress(&job.Job{URL: u}, t)}
		return tty.Following(context.WithValue(ctx, treeVisitKey{}, v), t), t.End
	}
	opts.Progress = func(ctx context.Context, path string, done, total int64) {
		if v := treeVisitOf(ctx); v.progress != nil {
			v.progress(done, total)
		}
	}
}
