package download_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// operations records the file system operations of d that are listed in wanted.
func operations(d *download.Downloader, wanted ...string) *[]string {
	var all []string
	download.Watch(d, func(op, name string) error {
		if slices.Contains(wanted, op) {
			all = append(all, strings.TrimSpace(op+" "+name))
		}
		return nil
	})
	return &all
}

// TestSync compares the sync operations and their order.
func TestSync(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("for the ways of Linux")
	}
	small, large := 100, 100_000
	tests := []struct {
		name   string
		sync   download.Sync
		exists download.Exists
		size   int
		there  bool
		want   []string // the last one is by Flush
	}{
		{"small", download.SyncBatch, download.NewName, small, false, []string{"link file.bin", "sync file.bin", "sync ."}},
		{"large", download.SyncBatch, download.NewName, large, false, []string{"renameNew file.bin.part file.bin", "sync file.bin", "sync ."}},
		{"replaced", download.SyncBatch, download.Overwrite, large, true,
			[]string{"sync file.bin.part", "rename file.bin.part file.bin", "sync file.bin", "sync ."}},
		{"nothing to replace", download.SyncBatch, download.Overwrite, large, false, []string{"rename file.bin.part file.bin", "sync file.bin", "sync ."}},
		{"each, small", download.SyncEach, download.NewName, small, false, []string{"sync", "link file.bin", "sync ."}},
		{"each, large", download.SyncEach, download.NewName, large, false, []string{"sync file.bin.part", "renameNew file.bin.part file.bin", "sync ."}},
		{"none, small", download.SyncNone, download.NewName, small, false, []string{"link file.bin"}},
		{"none, replaced", download.SyncNone, download.Overwrite, large, true, []string{"rename file.bin.part file.bin"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := newLiar(pattern(tt.size, 1)).downloader(t, dir)
			d.Sync = tt.sync
			if tt.there {
				if err := d.Root.WriteFile("file.bin", nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := operations(d, "sync", "link", "rename", "renameNew", "syncFileSystem")
			if _, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: tt.exists}); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second has nothing to do
				if err := d.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(*got, tt.want) {
				t.Errorf("%q, want %q", *got, tt.want)
			}
		})
	}
}

// Flush makes many files and their directories durable in one step, and closes the directories.
func TestFlushMany(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("for the ways of Linux")
	}
	d := newLiar(pattern(10, 1)).downloader(t, t.TempDir())
	open := 0
	var syncs []string
	download.Watch(d, func(op, name string) error {
		switch {
		case op == "open" && name == ".":
			open++
		case op == "close":
			open--
		case op == "sync" || op == "syncFileSystem":
			syncs = append(syncs, op)
		}
		return nil
	})
	dirs, most := download.MaxCached+10, 0
	for i := range dirs + 10 {
		if _, err := d.Get(t.Context(), liarURL, fmt.Sprintf("%d/%d", i%dirs, i), nil); err != nil {
			t.Fatal(err)
		}
		most = max(most, open)
	}
	if most != download.MaxCached {
		t.Errorf("%d directories stayed open, want %d", most, download.MaxCached)
	}
	if err := d.Flush(); err != nil || !slices.Equal(syncs, []string{"syncFileSystem"}) || open != 0 {
		t.Errorf("%v, %q, %d directories are open", err, syncs, open)
	}
}

// Errors of Flush are of class ErrFile.
func TestFlushFails(t *testing.T) {
	t.Parallel()
	d := newLiar(pattern(10, 1)).downloader(t, t.TempDir())
	download.Watch(d, func(op, name string) error {
		if op == "sync" || op == "syncFileSystem" {
			return syscall.EIO
		}
		return nil
	})
	for n := range 20 {
		if _, err := d.Get(t.Context(), liarURL, "", nil); err != nil {
			t.Fatal(err)
		}
		if n > 0 && n < 10 {
			continue
		}
		if err := d.Flush(); !errors.Is(err, fetch.ErrFile) || !errors.Is(err, syscall.EIO) {
			t.Errorf("after %d files: %v", n+1, err)
		}
	}
}

func TestFlushAfterFileWasReplacedByDirectory(t *testing.T) {
	t.Parallel()
	d := newLiar(pattern(100, 1)).downloader(t, t.TempDir())
	if _, err := d.Do(t.Context(), &fetch.Request{URL: uri.MustParse(liarURL)}, "a", nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Root.Rename("a", "b"), d.Root.Mkdir("a", 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := d.Flush(); err != nil {
		t.Error(err)
	}
}
