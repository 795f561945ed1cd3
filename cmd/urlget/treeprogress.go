package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// A treeCount is how far a tree is. Its fields are guarded by the console's lock.
type treeCount struct {
	done, failed int64
	waiting      int64 // URLs to be visited, with those that are being visited
}

// totals returns the line for a tree: what there is of it, what is known to come, and where it
// comes from, in at most width columns.
func (c *console) treeTotals(width int) string {
	n := c.tree
	text := fmt.Sprintf("%d done · %d queued", n.done, max(n.waiting-int64(len(c.running)), 0))
	if n.failed > 0 {
		text += " · " + c.paint.bad(fmt.Sprintf("%d failed", n.failed))
	}
	bytes := c.bytes
	hosts := make(map[string]bool)
	from := ""
	for _, t := range c.running {
		bytes += t.done
		hosts[t.host] = true
		from = t.host
	}
	text += " · " + progressSize(bytes, -1) + " · " + sizeWord(c.display.rate.perSecond) + "/s"
	if len(hosts) > 1 {
		from = fmt.Sprintf("%d hosts", len(hosts))
	}
	if with := text + " · " + from; from != "" && columns(with) <= width {
		return with
	}
	return cut(text, width)
}

// counts changes the counts of the tree.
func (c *console) counts(change func(n *treeCount)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tree != nil {
		change(c.tree)
	}
}

type treeVisitKey struct{}

// A treeVisit is what is shown of one visit of a tree.
type treeVisit struct {
	*transfer
	progress func(done, total int64) // or nil
}

func treeVisitOf(ctx context.Context) treeVisit {
	v, _ := ctx.Value(treeVisitKey{}).(treeVisit)
	return v
}

// showTree lets the display show a mirror that is made with opts, if there is one.
func (g *getter) showTree(opts *mirror.Options) {
	if g.con.tty == nil && !g.con.plain && g.events == nil && g.opts.Report.Progress != flags.ProgressJSON {
		return
	}
	g.con.mu.Lock()
	g.con.tree = &treeCount{}
	g.con.mu.Unlock()
	layout := g.opts.Tree.Layout()
	opts.Crawl.Waiting = func(waiting int64) { g.con.counts(func(n *treeCount) { n.waiting = waiting }) }
	opts.Begin = func(ctx context.Context, u uri.URI) (context.Context, func()) {
		t := g.con.begin(filepath.FromSlash(layout.Path(u)))
		t.change(func() { t.host = u.Host() })
		v := treeVisit{t, g.progress(&job.Job{URL: u}, t)}
		return following(context.WithValue(ctx, treeVisitKey{}, v), t), t.end
	}
	opts.Progress = func(ctx context.Context, path string, done, total int64) {
		if v := treeVisitOf(ctx); v.progress != nil {
			v.progress(done, total)
		}
	}
}
