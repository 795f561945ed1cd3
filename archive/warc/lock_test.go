package warc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A second writer of a file fails, whatever name it uses, and changes nothing.
func TestArchivesAreLocked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first  WriterOptions
		prior  bool // the first writer appends to a file of an earlier run
		link   func(oldname, newname string) error
		path   string // of the second writer; "" for that of the first
		second WriterOptions
	}{
		"append to a new file":       {second: WriterOptions{Append: true}},
		"append to an existing file": {prior: true, first: WriterOptions{Append: true}, second: WriterOptions{Append: true}},
		"new file":                   {second: WriterOptions{}},
		"with an index":              {first: WriterOptions{Index: true}, second: WriterOptions{Append: true, Index: true}},
		"symbolic link":              {link: os.Symlink, path: "link", second: WriterOptions{Append: true}},
		"hard link":                  {link: os.Link, path: "link", second: WriterOptions{Append: true}},
		"numbered files":             {first: WriterOptions{MaxSize: 1000}, second: WriterOptions{Append: true, MaxSize: 1000}},
		"another file with the same index": {first: WriterOptions{Index: true}, path: "a.warc",
			second: WriterOptions{Append: true, Index: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			if tt.prior {
				create(t, path, WriterOptions{}).Close()
			}
			first := create(t, path, tt.first)
			defer first.Close()
			for range 5 { // several numbered files
				if err := first.Write(draft(t, "ftp://h/a", "pear")); err != nil {
					t.Fatal(err)
				}
			}
			if tt.link != nil {
				if err := tt.link(path+".warc.gz", filepath.Join(dir, "link.warc.gz")); err != nil {
					t.Skip(err)
				}
			}
			second := path
			if tt.path != "" {
				second = filepath.Join(dir, tt.path)
			}
			before := snapshotOf(t, dir)
			if w, err := Create(second, tt.second); !errors.Is(err, ErrInUse) {
				t.Errorf("%v, want ErrInUse", err)
				if err == nil {
					w.Close()
				}
			}
			if after := snapshotOf(t, dir); after != before {
				t.Errorf("files changed:\n%s\nbefore:\n%s", after, before)
			}
			if err := errors.Join(first.Write(draft(t, "ftp://h/b", "plum")), first.Close()); err != nil {
				t.Fatal(err)
			}
			if tt.second.Append {
				w, err := Create(second, tt.second)
				if err != nil {
					t.Fatalf("after the first writer ended: %v", err)
				}
				w.Close()
			}
		})
	}
}

// snapshotOf returns the names and contents of the files in a directory.
func snapshotOf(t *testing.T, dir string) (text string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		text += name + "\n" + string(data) + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The file that follows another one is locked before that is unlocked.
func TestLockMovesToTheNextFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	o := WriterOptions{MaxSize: 1, Append: true}
	first := create(t, path, o)
	defer first.Close()
	for range 50 {
		done := make(chan error)
		go func() {
			w, err := Create(path, o)
			if err == nil {
				err = errors.Join(errors.New("two writers"), w.Close())
			}
			done <- err
		}()
		if err := first.Write(draft(t, "ftp://h/a", "pear")); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, ErrInUse) {
			t.Fatalf("%v, want ErrInUse", err)
		}
	}
}
