package download_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/internal/unnamed"
)

func TestResultDescribesFile(t *testing.T) {
	t.Parallel()
	small, large := pattern(3000, 1), pattern(64<<10+1, 1)
	tests := []struct {
		name    string
		content []byte
		script  []reply
		there   []byte // existing file; nil means none
		opts    download.Options
		want    string // Content
	}{
		{name: "small", content: small, opts: download.Options{Content: true}, want: string(small)},
		{name: "without a time", content: small, script: []reply{{bare: true}}, opts: download.Options{Content: true}, want: string(small)},
		{name: "in a buffer", content: small, opts: download.Options{Content: true, ContentBuffer: make([]byte, 0, 4<<10)}, want: string(small)},
		{name: "in a buffer that is too small", content: small, opts: download.Options{Content: true, ContentBuffer: make([]byte, 9)}, want: string(small)},
		{name: "large", content: large, opts: download.Options{Content: true}},
		{name: "not requested", content: small},
		{name: "replaces a file", content: small, there: []byte("old"), opts: download.Options{Content: true, Exists: download.Overwrite}},
		{name: "unchanged", content: small, there: small, opts: download.Options{Content: true, Exists: download.Newer}},
		{name: "skipped", content: small, there: []byte("old"), opts: download.Options{Content: true, Exists: download.Skip}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			name := filepath.Join(dir, "file.bin")
			if tt.there != nil {
				if err := os.WriteFile(name, tt.there, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(name, morning, morning); err != nil {
					t.Fatal(err)
				}
			}
			r, err := newLiar(tt.content, tt.script...).downloader(t, dir).Get(t.Context(), liarURL, "file.bin", &tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if !r.ModTime.Equal(info.ModTime()) {
				t.Errorf("ModTime is %v, want %v", r.ModTime, info.ModTime())
			}
			f, err := unnamed.Create(dir)
			if err == nil {
				f.Close()
			} else if r.Content == nil {
				return // content is only kept for unnamed files
			}
			if string(r.Content) != tt.want {
				t.Errorf("Content has %d bytes, want %d", len(r.Content), len(tt.want))
			}
		})
	}
}

// A file that appears after the caller has looked for it is replaced as one that was there before.
func TestAbsentFileHasAppeared(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3000, 200 << 10} {
		dir, content := t.TempDir(), pattern(size, 1)
		name := filepath.Join(dir, "file.bin")
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		opts := &download.Options{Exists: download.Overwrite, Absent: true}
		if _, err := newLiar(content).downloader(t, dir).Get(t.Context(), liarURL, "file.bin", opts); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		info, _ := os.Stat(name)
		if err != nil || string(got) != string(content) || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%d bytes of %d, %v, %v", len(got), size, info.Mode(), err)
		}
		if list, _ := os.ReadDir(dir); len(list) != 1 {
			t.Errorf("the directory has %v", list)
		}
	}
}

// Known values from a listing only decide whether a request is needed.
func TestKnown(t *testing.T) {
	t.Parallel()
	content := pattern(3000, 1)
	known := func(size int64, t time.Time) *download.Known {
		return &download.Known{Size: size, Validator: fetch.Validator{ModTime: t}}
	}
	same, later := morning, morning.Add(time.Hour)
	tests := []struct {
		name     string
		exists   download.Exists
		there    []byte // existing file with the time morning; nil means none
		known    *download.Known
		outcome  download.Outcome
		requests []string
	}{
		{name: "unchanged", exists: download.Newer, there: content, known: known(3000, same), outcome: download.Unchanged},
		{name: "older than the file", exists: download.Newer, there: content, known: known(3000, same.Add(-time.Hour)), outcome: download.Unchanged},
		{name: "newer than the file", exists: download.Newer, there: content[:10], known: known(3000, later), requests: []string{"all"}},
		{name: "another size", exists: download.Newer, there: content[:10], known: known(3000, same), requests: []string{"all"}},
		{name: "size unknown", exists: download.Newer, there: content, known: known(-1, same), outcome: download.Unchanged, requests: []string{"all if"}},
		{name: "time unknown", exists: download.Newer, there: content, known: known(3000, time.Time{}), outcome: download.Unchanged, requests: []string{"all if"}},
		{name: "the listing was wrong", exists: download.Newer, there: content, known: known(2999, same), outcome: download.Unchanged, requests: []string{"all"}},
		{name: "new", exists: download.Newer, known: known(3000, same), requests: []string{"all"}},
		{name: "complete", exists: download.Resume, there: content, known: known(3000, same), outcome: download.Unchanged},
		{name: "overwrite", exists: download.Overwrite, there: content, known: known(3000, same), requests: []string{"all"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.there != nil {
				name := filepath.Join(dir, "file.bin")
				if err := os.WriteFile(name, tt.there, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(name, morning, morning); err != nil {
					t.Fatal(err)
				}
			}
			l := newLiar(content)
			r, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", &download.Options{Exists: tt.exists, Known: tt.known})
			if err != nil || r.Outcome != cmp.Or(tt.outcome, download.Saved) || r.Name != "file.bin" || r.Size != 3000 {
				t.Errorf("%+v, %v", r, err)
			}
			if got := l.requests(); !slices.Equal(got, tt.requests) {
				t.Errorf("requests %q, want %q", got, tt.requests)
			}
			if have := tree(t, dir); len(have) != 1 || have["file.bin"] != string(content) {
				t.Errorf("files %q, or contents wrong", names(have))
			}
		})
	}
}

// Times that do not fit in 32 bits are set and read back.
func TestTimesAfter2038(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3000, 9_000_000} { // as an unnamed file and as a partial file
		dir, content := t.TempDir(), pattern(size, 1)
		l := newLiar(content)
		l.valid.ModTime = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
		d := l.downloader(t, dir)
		known := &download.Known{Size: int64(size), Validator: fetch.Validator{ModTime: l.valid.ModTime}}
		for i, want := range []download.Outcome{download.Saved, download.Unchanged} {
			r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Newer, Known: known})
			if err != nil || r.Outcome != want {
				t.Errorf("run %d with %d bytes: %+v, %v", i, size, r, err)
			}
		}
		l.valid.ModTime = l.valid.ModTime.Add(time.Second)
		known.ModTime = l.valid.ModTime
		if r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Newer, Known: known}); err != nil || r.Outcome != download.Saved {
			t.Errorf("newer, with %d bytes: %+v, %v", size, r, err)
		}
		if got := l.requests(); !slices.Equal(got, []string{"all", "all"}) {
			t.Errorf("requests %q", got)
		}
	}
}

// Small files are saved even if an operation on unnamed files is not supported.
func TestUnnamedRefused(t *testing.T) {
	t.Parallel()
	for _, refused := range []string{"unnamed", "link", "chtimes"} {
		d := newLiar(pattern(100, 1)).downloader(t, t.TempDir())
		download.Watch(d, func(op, name string) error {
			if op == refused && !strings.Contains(name, ".part") {
				return errors.ErrUnsupported
			}
			return nil
		})
		for range 2 {
			if _, err := d.Get(t.Context(), liarURL, "", nil); err != nil {
				t.Errorf("without %s: %v", refused, err)
			}
		}
		want := map[string]string{"file.bin": string(pattern(100, 1)), "file.bin.1": string(pattern(100, 1))}
		if have := contents(t, d.Root.Name()); !maps.Equal(have, want) {
			t.Errorf("without %s: files %q, or contents wrong", refused, names(have))
		}
	}
}

// Files get their final names even if the system supports neither renaming without replacement nor
// hard links.
func TestNoHardLinks(t *testing.T) {
	t.Parallel()
	content := string(pattern(100_000, 1))
	for _, refused := range [][]string{{"renameNew"}, {"renameNew", "link"}} {
		dir := t.TempDir()
		d := newLiar([]byte(content)).downloader(t, dir)
		refuse := func(failing string) {
			download.Watch(d, func(op, name string) error {
				switch {
				case op == failing && name == "file.bin.part file.bin.2":
					return syscall.EIO
				case op == "link" && slices.Contains(refused, op):
					return &os.LinkError{Op: op, Err: syscall.EPERM}
				case slices.Contains(refused, op):
					return errors.ErrUnsupported
				}
				return nil
			})
		}
		refuse("")
		for range 2 {
			if _, err := d.Get(t.Context(), liarURL, "", nil); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Skip}); err != nil || r.Outcome != download.Skipped {
			t.Errorf("%+v, %v", r, err)
		}
		want := map[string]string{"file.bin": content, "file.bin.1": content}
		if have := contents(t, dir); !maps.Equal(have, want) {
			t.Errorf("without %q: files %q, or contents wrong", refused, names(have))
		}
		d.Flush() // closes the directory
		refuse("rename")
		_, err := d.Get(t.Context(), liarURL, "", nil)
		if slices.Contains(refused, "link") {
			if !errors.Is(err, fetch.ErrFile) || !errors.Is(err, syscall.EIO) {
				t.Errorf("error %v", err)
			}
		} else if want["file.bin.2"] = content; err != nil {
			t.Error(err)
		}
		have := contents(t, dir)
		maps.DeleteFunc(have, func(name, _ string) bool { return strings.Contains(name, ".part") })
		if !maps.Equal(have, want) {
			t.Errorf("without %q and a rename: files %q, or contents wrong", refused, names(have))
		}
	}
}

// The record of a large partial file is written before its first byte. A small partial file gets a
// record only after a failure.
func TestRecordComesFirst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		size, segments int
		record         bool
	}{{100_000, 0, false}, {2 << 20, 0, true}, {4 << 20, 4, true}} {
		synctest.Test(t, func(t *testing.T) { // the record is also written at intervals
			dir := t.TempDir()
			d := newLiar(pattern(tt.size, 1), reply{cut: 5}).downloader(t, dir)
			var recorded, records int
			download.Watch(d, func(op, name string) error {
				switch {
				case op == "rename" && name == "file.bin.part.new file.bin.part.json":
					recorded, records = 1, records+1
				case op == "remove" && name == "file.bin.part.json":
					recorded = 0
				case op == "write" && name == "file.bin.part" && (recorded == 1) != tt.record:
					return fmt.Errorf("%d records are there", recorded)
				}
				return nil
			})
			if _, err := d.Get(t.Context(), liarURL, "", &download.Options{Segments: tt.segments, Retry: retry.Policy{Wait: 1}}); err != nil {
				t.Errorf("%d bytes: %v", tt.size, err)
			}
			if tt.record && records > 2 {
				t.Errorf("%d bytes: %d records", tt.size, records)
			}
		})
	}
}

// A new small file takes only these operations, and its directory is opened once.
func TestSmallFileIsCheap(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("for the ways of Linux")
	}
	d := newLiar(pattern(4096, 1)).downloader(t, t.TempDir())
	var got []string
	download.Watch(d, func(op, name string) error {
		got = append(got, strings.TrimSpace(op+" "+name))
		return nil
	})
	for _, name := range []string{"a", "b"} {
		if _, err := d.Get(t.Context(), liarURL, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"open .", "lstat a.part", "unnamed", "write", "chtimes", "link a", "lstat b.part", "unnamed", "write", "chtimes", "link b"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
