//go:build unix

package download_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// Named pipes are not opened, which would block, and not treated as files.
func TestPipes(t *testing.T) {
	t.Parallel()
	record := `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":100}`
	for _, exists := range []download.Exists{download.NewName, download.Overwrite, download.Skip, download.Resume, download.Newer} {
		for _, pipe := range []string{"file.bin", "file.bin.part", "file.bin.part.json", "file.bin.part.new"} {
			dir := t.TempDir()
			for name, data := range map[string]string{"file.bin.part": string(pattern(10, 1)), "file.bin.part.json": record} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			name := filepath.Join(dir, pipe)
			if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(name, 0o600); err != nil {
				t.Skip(err)
			}
			r, err := newLiar(pattern(100, 1)).downloader(t, dir).Get(t.Context(), liarURL, "", &download.Options{Exists: exists})
			switch {
			case err != nil && !errors.Is(err, fetch.ErrFile):
				t.Errorf("%s, mode %d: %v", pipe, exists, err)
			case err == nil && r.Outcome == download.Saved:
				if data, err := os.ReadFile(filepath.Join(dir, r.Name)); err != nil || string(data) != string(pattern(100, 1)) {
					t.Errorf("%s, mode %d: %+v, %d bytes, %v", pipe, exists, r, len(data), err)
				}
			}
		}
	}
}

// A file or partial file with another hard link is not written to.
func TestHardLinks(t *testing.T) {
	t.Parallel()
	content := string(pattern(200_000, 1))
	record := `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":200000}`
	for _, linked := range []string{"file.bin", "file.bin.part"} {
		dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "precious")
		if err := os.WriteFile(outside, []byte(content[:100_000]), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(outside, filepath.Join(dir, linked)); err != nil {
			t.Skip(err)
		}
		if linked == "file.bin.part" {
			if err := os.WriteFile(filepath.Join(dir, "file.bin.part.json"), []byte(record), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			synctest.Test(t, func(t *testing.T) {
				l := newLiar([]byte(content), reply{cut: 70_000})
				r, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume})
				if err != nil || r.Name != "file.bin" {
					t.Errorf("%s: %+v, %v", linked, r, err)
				}
			})
		}
		if have := contents(t, dir); !maps.Equal(have, map[string]string{"file.bin": content}) {
			t.Errorf("%s: files %q, or contents wrong", linked, names(have))
		}
		if data, err := os.ReadFile(outside); err != nil || string(data) != content[:100_000] {
			t.Errorf("%s: the other file has %d bytes, %v", linked, len(data), err)
		}
	}
}

// A file that replaces another one keeps its mode and, if the system permits it, its owner.
func TestReplacedKeepsMode(t *testing.T) {
	t.Parallel()
	for _, exists := range []download.Exists{download.Overwrite, download.Newer, download.Resume} {
		for _, size := range []int{100, 200_000} {
			for _, perm := range []os.FileMode{0o600, 0o640, 0o444, 0o755} {
				dir := t.TempDir()
				name := filepath.Join(dir, "file.bin")
				if err := os.WriteFile(name, pattern(size, 1)[:10], 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(name, morning.Add(-time.Hour), morning.Add(-time.Hour)); err != nil {
					t.Fatal(err)
				}
				owner := os.Getuid()
				if owner == 0 {
					owner = 12345
					if err := os.Chown(name, owner, 23456); err != nil {
						t.Skip(err)
					}
				}
				if err := os.Chmod(name, perm); err != nil {
					t.Fatal(err)
				}
				d := newLiar(pattern(size, 1)).downloader(t, dir)
				progress := func(int64, int64) {
					info, err := os.Stat(filepath.Join(dir, "file.bin.part"))
					if err == nil && info.Mode().Perm()&^0o600&^perm != 0 {
						t.Errorf("mode %o on the way to %o", info.Mode().Perm(), perm)
					}
				}
				if _, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: exists, Progress: progress}); err != nil {
					t.Fatal(err)
				}
				info, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				if info.Size() != int64(size) || info.Mode().Perm() != perm || int(info.Sys().(*syscall.Stat_t).Uid) != owner {
					t.Errorf("mode %d: %d bytes, %v of %d, want %o of %d", exists, info.Size(), info.Mode(), info.Sys().(*syscall.Stat_t).Uid, perm, owner)
				}
			}
		}
	}
}

// Only the owner can read a record.
func TestRecordIsPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := newLiar(pattern(500, 1), reply{cut: 100}, reply{err: stop})
	synctest.Test(t, func(t *testing.T) {
		if _, err := l.downloader(t, dir).Get(t.Context(), "x-liar://me:secret@host/file.bin?token=1", "", nil); !errors.Is(err, fetch.ErrAuth) {
			t.Fatal(err)
		}
	})
	info, err := os.Stat(filepath.Join(dir, "file.bin.part.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if have := contents(t, dir)["file.bin.part.json"]; !strings.Contains(have, `"url":"x-liar://host/file.bin?token=1"`) {
		t.Errorf("record %s", have)
	}
}
