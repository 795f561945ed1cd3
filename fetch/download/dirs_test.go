package download_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

func TestLstat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "a/b/x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("12345"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := &download.Downloader{Root: root}
	for range 2 { // the second time, the directories are already open
		for _, name := range []string{"x", "a/b/x"} {
			if info, err := d.Lstat(name); err != nil || info.Size() != 5 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		for _, name := range []string{"y", "a/b/y", "c/y"} {
			if _, err := d.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v, want that there is none", name, err)
			}
		}
		if _, err := d.Lstat("../x"); !strings.Contains(fmt.Sprint(err), "path escapes from parent") {
			t.Errorf("what is outside: %v", err)
		}
	}
	if err := d.Flush(); err != nil { // closes the directories
		t.Error(err)
	}
}

func TestKnownSuffices(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, []byte("12345"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	var none *download.Known
	if none.Suffices(info) {
		t.Error("nothing suffices")
	}
	for _, test := range []struct {
		size int64
		time time.Time
		want bool
	}{
		{5, at, true}, {5, at.Add(-time.Hour), true}, {5, at.Add(time.Second / 2), true},
		{5, at.Add(time.Second), false}, {4, at, false}, {-1, at, false}, {5, time.Time{}, false},
	} {
		k := &download.Known{Size: test.size, Validator: fetch.Validator{ModTime: test.time}}
		if got := k.Suffices(info); got != test.want {
			t.Errorf("%d bytes, %v: %t, want %t", test.size, test.time, got, test.want)
		}
	}
}
