package queue_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/internal/filelock"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/internal/artefact"
	"github.com/urlget/urlget/queue/queuetest"
)

// OpenDir removes the unfinished files of a killed worker. It keeps files that another worker is
// writing.
func TestAbandonedFilesAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := queue.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{"left", "new", "locked"} {
		path := filepath.Join(dir, "tmp", name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "new" {
			continue
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(filepath.Join(dir, "tmp", "locked"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := filelock.Try(f); err != nil {
		t.Skip("no file locks on this system, so OpenDir removes nothing")
	}
	next, err := queue.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	files, err := next.Files()
	if want := []string{"tmp/locked", "tmp/new"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("files %q, want %q: %v", files, want, err)
	}
}

// A store works without unnamed files, and a sweep keeps files that are being written. Small bodies
// have no file until they are complete.
func TestDirWithNamedFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ size, during int }{{4, 0}, {64 << 10, 0}, {64<<10 + 1, 1}} {
		d, err := queue.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		queue.WithNames(d)
		s, err := d.Begin()
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat("t", c.size)
		io.WriteString(s, text[:c.size/2])
		io.WriteString(s, text[c.size/2:])
		if files, _ := d.Files(); len(files) != c.during {
			t.Errorf("%d bytes: files during the write: %q", c.size, files)
		}
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		where, err := s.Commit(t.Context(), sum)
		if files, _ := d.Files(); err != nil || len(files) != 1 || files[0] != where {
			t.Errorf("%d bytes: files %q, want %q: %v", c.size, files, where, err)
		}
		if r, err := d.Get(t.Context(), sum); err != nil {
			t.Error(err)
		} else if got, err := io.ReadAll(r); err != nil || string(got) != text {
			t.Errorf("%d bytes: read %d bytes: %v", c.size, len(got), err)
		}
	}
}

func TestDir(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*queue.Dir){"Nameless": func(*queue.Dir) {}, "WithNames": queue.WithNames} {
		for kind, forge := range map[string]func(path, text string) error{
			"File": func(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) },
			"Link": func(path, text string) error {
				if err := os.WriteFile(path+"x", []byte(text), 0o644); err != nil {
					return err
				}
				return os.Symlink(filepath.Base(path)+"x", path)
			},
		} {
			t.Run(name+kind, func(t *testing.T) {
				t.Parallel()
				queuetest.RunStore(t, func(t *testing.T, forged map[string]string) queue.Store {
					dir := t.TempDir()
					d, err := queue.OpenDir(dir)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { d.Close() })
					change(d)
					for sum, text := range forged {
						path := filepath.Join(dir, filepath.FromSlash(artefact.Path(sum)))
						if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
							t.Fatal(err)
						}
						if err := forge(path, text); err != nil {
							t.Fatal(err)
						}
					}
					return d
				})
			})
		}
	}
}
