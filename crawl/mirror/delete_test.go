package mirror_test

import (
	"io/fs"
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

// TestLinksToDirectoriesAreSkipped mirrors a tree whose listing shows symbolic links. Links to files
// are saved as files. Links to directories are reported and do not prevent the removal of files.
func TestLinksToDirectoriesAreSkipped(t *testing.T) {
	t.Parallel()
	link := func(target string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777, ModTime: day}
	}
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), ModTime: day} }
	for name, unknown := range map[string][]string{"MLSD": nil, "LIST": {"MLSD"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{"pub/sub/d.txt": file("dee"), "pub/a.txt": file("one"), "pub/b.txt": file("two"),
				"pub/link.txt": link("a.txt"), "pub/stable": link("sub"), "pub/loop": link("..")}
			s := ftpd.Start(t, ftpd.Options{Tree: tree, Unknown: unknown})
			dir, opts := t.TempDir(), noHost()
			want := map[string]string{"pub/sub/d.txt": "dee", "pub/a.txt": "one", "pub/b.txt": "two", "pub/link.txt": "one"}
			for range 2 {
				events, r := run(t, dir, s.URL+"/", opts)
				compare(t, "links", files(t, dir), want)
				skipped := 0
				for _, e := range events {
					if e == "skipped " {
						skipped++
					}
				}
				if skipped != 2 || r.Failed != 0 || len(r.Kept) > 0 {
					t.Errorf("%q, %+v; want two skipped links", events, r)
				}
				delete(tree, "pub/b.txt")
				delete(want, "pub/b.txt")
				opts.Delete = true
			}
		})
	}
}

// TestDirectoryNamedAsFileFails has the URL of a directory without its slash as the argument.
func TestDirectoryNamedAsFileFails(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"pub/a.txt": {Data: []byte("one")}}})
	events, r := run(t, t.TempDir(), s.URL+"/pub", noHost())
	if r.Failed != 1 {
		t.Errorf("%q, %+v; want a failure", events, r)
	}
}
