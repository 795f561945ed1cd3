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
