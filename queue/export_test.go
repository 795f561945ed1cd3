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
