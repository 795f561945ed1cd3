package mirror_test

import (
	"maps"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// TestDeleteInEveryLayout mirrors a tree twice. It contains files of the same name. Layouts that
// omit directory names save all files in one directory.
func TestDeleteInEveryLayout(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{}
	for _, name := range []string{"a/x.txt", "b/x.txt", "b/y.txt", "c.txt"} {
		tree[name] = &fstest.MapFile{Data: []byte("this is " + name + "\n"), ModTime: day}
	}
	tests := []struct {
		name    string
		removed []string
		opts    func(o *mirror.Options) // changes the options of the second run
	}{
		{"a directory is excluded", nil, func(o *mirror.Options) { o.Crawl.Scope.RejectURL = regexp.MustCompile("/b/") }},
		{"a directory is too deep", nil, func(o *mirror.Options) { o.Crawl.Scope.MaxDepth = 1 }},
		{"a name is rejected", nil, func(o *mirror.Options) { o.Crawl.Scope.Reject = []string{"x.txt"} }},
		{"files are removed", []string{"b/x.txt", "c.txt"}, func(*mirror.Options) {}},
		{"a directory is removed", []string{"b/x.txt", "b/y.txt"}, func(*mirror.Options) {}},
	}
	for name, layout := range map[string]mirror.Layout{"all": {}, "no host": {NoHost: true}, "CutDirs 1": {CutDirs: 1},
		"CutDirs 1, no host": {CutDirs: 1, NoHost: true}, "flat": {Flat: true}} {
		for _, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				tree := maps.Clone(tree)
				s := ftpd.Start(t, ftpd.Options{Tree: tree})
				dir := t.TempDir()
				opts := noHost()
				opts.Layout = layout
				run(t, dir, s.URL+"/", opts)
				for _, name := range tt.removed {
					delete(tree, name)
				}
				tt.opts(&opts)
				opts.Delete = true
				events, r := run(t, dir, s.URL+"/", opts)
				if n := len(files(t, dir)); int(r.Deleted) != len(tt.removed) || n != len(tree) {
					t.Errorf("deleted %d; %d local files, %d on the server: %q", r.Deleted, n, len(tree), events)
				}
			})
		}
	}
}
