package queue

import (
	"context"
	"io/fs"

	"github.com/urlget/urlget/crawl/robots"
)

// WithNames makes a store create only named files.
func WithNames(d *Dir) { d.unnamedFiles = false }

// Files returns the paths of all files in the directory, in order.
func (d *Dir) Files() (paths []string, err error) {
	err = fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			paths = append(paths, name)
		}
		return err
	})
	return paths, err
}

// ShareRules shares robots.txt files among workers.
func ShareRules(e Engine, agent string) func(context.Context, string, func(context.Context) (*robots.Rules, error)) (*robots.Rules, error) {
	return (&sharedRules{e, agent}).rules
}

// LimitPages sets the greatest number of pages that a compaction moves at once.
func LimitPages(c *Compaction, n int) { c.mostPages = n }

// FindPage returns a function that returns the depth of a page of a crawl, as workers find it. Known is false
// for a new page.
func FindPage(r *Results) func(ctx context.Context, id string) (depth int, known bool, err error) {
	f := newFrontier(r.Engine, Normal, &Crawl{}, newMovedPages(r))
	return func(ctx context.Context, id string) (depth int, known bool, err error) {
		err = f.change(ctx, id, func(m *mark, exists bool) (bool, error) {
			depth, known = m.Depth, exists
			return false, nil
		})
		return depth, known, err
	}
}
