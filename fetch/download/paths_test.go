package download_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// tree returns the paths and contents of all files below dir.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = readString(t, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A name may be a path. Partial files and records are in the same directory as the file.
func TestPaths(t *testing.T) {
	t.Parallel()
	small, large := string(pattern(100, 1)), string(pattern(3<<20, 2))
	dir := t.TempDir()
	l := newLiar([]byte(small))
	d := l.downloader(t, dir)
	want := map[string]string{}
	for _, name := range []string{"a/b/c.bin", "a/b/d.bin", "a/e.bin", "f.bin"} {
		r, err := d.Get(t.Context(), liarURL, name, nil)
		if err != nil || r.Name != name {
			t.Fatalf("%+v, %v", r, err)
		}
		want[name] = small
	}
	if r, err := d.Get(t.Context(), liarURL, "a/e.bin", nil); err != nil || r.Name != "a/e.bin.1" {
		t.Errorf("%+v, %v", r, err)
	}
	want["a/e.bin.1"] = small
	for name, full := range map[string]string{"": "i/j/file.bin", "k/l": "i/j/k/l"} {
		r, err := d.Get(t.Context(), liarURL, name, &download.Options{Dir: "i/j"})
		if err != nil || r.Name != full {
			t.Errorf("%+v, %v", r, err)
		}
		want[full] = small
	}
	if r, err := d.Get(t.Context(), liarURL, "a/e.bin", &download.Options{Exists: download.Skip}); err != nil || r.Name != "a/e.bin" || r.Outcome != download.Skipped {
		t.Errorf("%+v, %v", r, err)
	}

	l.content, l.script = []byte(large), []reply{{cut: 2 << 20}, {err: stop}}
	if _, err := d.Get(t.Context(), liarURL, "g/h.bin", nil); !errors.Is(err, fetch.ErrAuth) {
		t.Fatal(err)
	}
	if have := tree(t, dir); len(have["g/h.bin.part"]) != 2<<20 || have["g/h.bin.part.json"] == "" {
		t.Errorf("files %q", names(have))
	}
	r, err := d.Get(t.Context(), liarURL, "g/h.bin", &download.Options{Exists: download.Resume})
	if err != nil || r.Name != "g/h.bin" || r.Written != 1<<20 {
		t.Errorf("%+v, %v", r, err)
	}
	want["g/h.bin"] = large
	if err := d.Flush(); err != nil {
		t.Error(err)
	}
	if have := tree(t, dir); !maps.Equal(have, want) {
		t.Errorf("files %q, want %q, or contents wrong", names(have), names(want))
	}
}

// No directory is created if nothing is saved, or if a file or a link has its name.
func TestPathsRefused(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for _, exists := range []download.Exists{download.NewName, download.Overwrite, download.Skip, download.Resume, download.Newer} {
		for _, size := range []int{5, 3 << 20} {
			d := newLiar(pattern(size, 1)).downloader(t, dir)
			for _, name := range []string{"file/x", "link/x", "link/y/x"} {
				if _, err := d.Get(t.Context(), liarURL, name, &download.Options{Exists: exists}); !errors.Is(err, fetch.ErrFile) {
					t.Errorf("%s, mode %d: %v", name, exists, err)
				}
			}
			d = newLiar(nil, reply{err: stop}).downloader(t, dir)
			if _, err := d.Get(t.Context(), liarURL, "new/x", &download.Options{Exists: exists}); !errors.Is(err, fetch.ErrAuth) {
				t.Error(err)
			}
		}
	}
	for _, name := range []string{"/", "a/", ".", "..", "../a", "a/../b", "a//b", "/a", "a/\x00"} {
		d := newLiar(nil).downloader(t, dir)
		if _, err := d.Get(t.Context(), liarURL, name, nil); !errors.Is(err, fetch.ErrRequest) {
			t.Errorf("name %q: %v", name, err)
		}
		if _, err := d.Get(t.Context(), liarURL, "", &download.Options{Dir: name}); !errors.Is(err, fetch.ErrRequest) {
			t.Errorf("directory %q: %v", name, err)
		}
		if download.CheckName(name) == nil {
			t.Errorf("CheckName(%q) finds nothing", name)
		}
	}
	if have := tree(t, outside); len(have) > 0 {
		t.Errorf("outside: %q", names(have))
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory for nothing: %v", err)
	}
}

// A directory that is removed between two transfers is created again.
func TestDirectoryRemoved(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 100_000} {
		dir := t.TempDir()
		d := newLiar(pattern(size, 1)).downloader(t, dir)
		for range 2 {
			if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
				t.Fatal(err)
			}
			if r, err := d.Get(t.Context(), liarURL, "a/b", nil); err != nil || len(tree(t, dir)[r.Name]) != size {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	}
}
