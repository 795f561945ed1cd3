package download_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetchtest"
)

// A disk fails after a number of operations.
type disk struct {
	mu     sync.Mutex
	left   int // operations until it fails
	err    error
	broken bool // all later operations also fail
	failed string
}

func (d *disk) before(op, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if op == "close" || op == "open" && name == "." {
		return nil // not counted
	}
	d.left--
	if d.left > 0 || d.left < 0 && !d.broken {
		if op == "sync" {
			return download.ErrDone
		}
		return nil
	}
	if d.failed == "" {
		d.failed = op + " " + name
	}
	return d.err
}

// openFiles counts the open files in dir. Other tests leave files for the garbage collector to close.
func openFiles(t *testing.T, dir string) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range all {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// TestFailingDisk makes each file system operation fail in turn. Afterwards there must be no wrong
// file under the final name and no open file, and the next run must succeed. A single operation
// fails, or the disk fails from that operation on. Without URLGET_LONG, the errors of single
// operations alternate, and operations of long files are omitted that resemble others.
func TestFailingDisk(t *testing.T) {
	content, old := pattern(2<<20, 1), "something else"
	type files = map[string]string
	record := `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":%d%s}`
	scenarios := []struct {
		name   string
		size   int
		files  files
		script []reply
		opts   download.Options
		sync   download.Sync
		refuse string // an unsupported operation
		again  download.Exists
	}{
		{name: "small", size: 1000, again: download.Resume},
		{name: "small, each", size: 1000, sync: download.SyncEach, again: download.Resume},
		{name: "medium", size: 100_000, script: []reply{{cut: 1000}}, again: download.Resume},
		{name: "medium, no validator", size: 100_000, script: []reply{{cut: 1000, bare: true}, {cut: 1000, bare: true}}, again: download.Resume},
		{name: "medium, by links", size: 100_000, refuse: "renameNew", again: download.Resume},
		{name: "large", size: 2 << 20, sync: download.SyncEach, again: download.Resume},
		{name: "segments", size: 2 << 20, script: []reply{{cut: 1000}}, opts: download.Options{Segments: 2, SHA256: true}, again: download.Resume},
		{name: "replaced", size: 100_000, files: files{"file.bin": old}, opts: download.Options{Exists: download.Overwrite}, again: download.Overwrite},
		{name: "replaced small", size: 100, files: files{"file.bin": old}, opts: download.Options{Exists: download.Newer}, again: download.Overwrite},
		{name: "skipped", size: 100, files: files{"file.bin": old}, opts: download.Options{Exists: download.Skip}, again: download.Overwrite},
		{name: "resumed part", size: 100_000, opts: download.Options{Exists: download.Resume},
			files: files{"file.bin.part": string(content[:5000]), "file.bin.part.json": fmt.Sprintf(record, 100_000, "")}, again: download.Resume},
		{name: "resumed segments", size: 2 << 20, opts: download.Options{Exists: download.Resume, Segments: 2},
			files: files{"file.bin.part": string(content[:1000]), "file.bin.part.json": fmt.Sprintf(record, 2<<20, `,"missing":[[900,1048576],[1048576,2097152]]`)},
			again: download.Resume},
		{name: "resumed file", size: 200_000, script: []reply{{cut: 70_000}}, files: files{"file.bin": string(content[:150_000])},
			opts: download.Options{Exists: download.Resume}, again: download.Resume},
		{name: "resumed file, no validator", size: 200_000, script: []reply{{cut: 70_000, bare: true}, {bare: true}}, files: files{"file.bin": string(content[:150_000])},
			opts: download.Options{Exists: download.Resume, SHA256: true}, again: download.Resume},
		{name: "resumed file, wrong checksum", size: 200_000, files: files{"file.bin": string(content[:150_000])},
			opts: download.Options{Exists: download.Resume, Checksum: "md5:" + strings.Repeat("0", 32)}, again: download.Resume},
		{name: "complete file", size: 100_000, files: files{"file.bin": string(content[:100_000])}, opts: download.Options{Exists: download.Resume}, again: download.Resume},
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			body := content[:s.size]
			want := string(body)
			dir := t.TempDir()
			// run performs the download of the scenario with a disk.
			run := func(t *testing.T, disk *disk) {
				for name, data := range s.files {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				l := newLiar(body, s.script...)
				d := l.downloader(t, dir)
				defer d.Root.Close()
				d.Sync = s.sync
				open := openFiles(t, dir)
				download.Watch(d, func(op, name string) error {
					if op == s.refuse {
						return errors.ErrUnsupported
					}
					return disk.before(op, name)
				})
				opts := s.opts
				opts.Retry.Wait = 1
				_, err := d.Get(t.Context(), liarURL, "", &opts)
				if flushed := d.Flush(); err == nil {
					err = flushed
				}
				if err != nil && fetch.CodeOf(err) != fetch.ErrFile && (opts.Checksum == "" || fetch.CodeOf(err) != fetch.ErrChecksum) {
					t.Errorf("%q fails with %v: %v", disk.failed, disk.err, err)
				}
				if now := openFiles(t, dir); now != open {
					t.Errorf("%q fails with %v: %d files are open, %d were", disk.failed, disk.err, now, open)
				}
				after := contents(t, dir)
				if got, ok := after["file.bin"]; ok && got != want && got != s.files["file.bin"] {
					t.Errorf("%q fails with %v: file.bin has %d bytes, or wrong ones", disk.failed, disk.err, len(got))
				}
				if _, ok := s.files["file.bin"]; ok && after["file.bin"] == "" && len(after["file.bin.part"]) < len(s.files["file.bin"]) {
					t.Errorf("%q fails with %v: what was there is gone", disk.failed, disk.err)
				}

				d.Root.Close()
				d = l.downloader(t, dir)
				defer d.Root.Close()
				d.Sync = download.SyncNone
				r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: s.again, Retry: retry.Policy{Wait: 1}})
				if err != nil || r.Name != "file.bin" {
					t.Fatalf("after %q failed with %v, leaving %q: %+v, %v", disk.failed, disk.err, names(after), r, err)
				}
				have := contents(t, dir)
				if have["file.bin"] != want {
					t.Errorf("after %q failed with %v: the next run is wrong", disk.failed, disk.err)
				}
				maps.DeleteFunc(have, func(name, _ string) bool { return name == "file.bin" })
				if len(have) > 0 && r.Outcome == download.Saved {
					t.Errorf("after %q failed with %v, leaving %q: the next run leaves %q", disk.failed, disk.err, names(after), names(have))
				}
				if err := d.Flush(); err != nil {
					t.Error(err)
				}
				left, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range left {
					if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
						t.Fatal(err)
					}
				}
			}
			long := fetchtest.IsLong()
			single := []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES}
			for n := 1; ; n++ {
				if !long && s.size >= 1<<20 && n > 12 {
					n += 2
				}
				probe := &disk{left: n, err: single[n%3]}
				run(t, probe)
				if probe.failed == "" {
					if n < 3 {
						t.Errorf("%d operations are few", n-1)
					}
					return
				}
				if long && s.size < 1<<20 { // larger ones take too long
					run(t, &disk{left: n, err: single[(n+1)%3]})
					run(t, &disk{left: n, err: single[(n+2)%3]})
				}
				if long || s.size < 1<<20 || n%2 == 0 {
					run(t, &disk{left: n, err: errors.New("the machine is dead"), broken: true})
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}
