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

// A treeVisit is what is shown of one visit of a tree.
type treeVisit struct {
	*tty.Transfer
	progress func(done, total int64) // or nil
}

func treeVisitOf(ctx context.Context) treeVisit {
	v, _ := ctx.Value(treeVisitKey{}).(treeVisit)
	return v
}

// showTree lets the display show a mirror that is made with opts, if there is one.
func (g *getter) showTree(opts *mirror.Options) {
	if !g.con.Shown() && g.events == nil && g.opts.Report.Progress != flags.ProgressJSON {
		return
	}
	g.con.ShowTree()
	layout := g.opts.Tree.Layout()
	opts.Crawl.Waiting = func(waiting int64) { g.con.Count(func(n *tty.TreeCount) { n.Waiting = waiting }) }
	opts.Begin = func(ctx context.Context, u uri.URI) (context.Context, func()) {
		t := g.con.Begin(filepath.FromSlash(layout.Path(u, g.client.Traits(u))))
		t.From(u.Host())
		v := treeVisit{t, g.progress(&job.Job{URL: u}, t)}
		return tty.Following(context.WithValue(ctx, treeVisitKey{}, v), t), t.End
	}
	opts.Progress = func(ctx context.Context, path string, done, total int64) {
		if v := treeVisitOf(ctx); v.progress != nil {
			v.progress(done, total)
		}
	}
}
