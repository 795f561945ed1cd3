package mirror

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch/download"
)

// newMirror returns a mirror of an empty directory, with its own state.
func newMirror(t *testing.T) *mirror {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	state, err := crawl.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	d := &download.Downloader{Root: root, Sync: download.SyncNone}
	t.Cleanup(func() { d.Flush() })
	return &mirror{d: d, state: state, checked: map[string]bool{}, renames: map[string]rename{}}
}

// TestIsPathBlocked simulates a failure to save a/b. The page is started again if "a" was a file,
// even if another visit has renamed that file since.
func TestIsPathBlocked(t *testing.T) {
	t.Parallel()
	file := func(_ *mirror, r *os.Root) error { return r.WriteFile("a", nil, 0o666) }
	dir := func(_ *mirror, r *os.Root) error { return r.MkdirAll("a", 0o777) }
	renameFile := func(m *mirror, r *os.Root) error {
		if _, err := m.state.Claim(filePrefix+"a", "http://h/a"); err != nil {
			return err
		}
		if err := file(m, r); err != nil {
			return err
		}
		_, err := m.preparePath("a/c")
		return err
	}
	for _, tt := range []struct {
		name   string
		change func(*mirror, *os.Root) error // changes the tree after the attempt began
		want   bool
	}{
		{"a file with the name of the directory", file, true},
		{"a file that was renamed since", renameFile, true},
		{"a file that was replaced with a directory since", func(m *mirror, r *os.Root) error { return cmp.Or(renameFile(m, r), dir(m, r)) }, true},
		{"a directory with the name of the file", func(_ *mirror, r *os.Root) error { return r.MkdirAll("a/b", 0o777) }, true},
		{"the directory existed before", dir, false},
		{"nothing", func(*mirror, *os.Root) error { return nil }, false},
	} {
		m := newMirror(t)
		before := m.movedCount()
		if err := tt.change(m, m.d.Root); err != nil {
			t.Fatal(err)
		}
		if got := m.isPathBlocked("a/b", before); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
