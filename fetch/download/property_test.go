package download_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// allStates returns the states of a resource.
var allStates = sync.OnceValue(func() (all [4][]byte) {
	for i := range all {
		all[i] = pattern(3<<20+i, byte(i))
	}
	return all
})

// A world is a directory and a server that fails, changes and sends wrong responses.
type world struct {
	*liar
	states []([]byte)
	state  int // index of the current state
	dir    string
	root   *os.Root
}

func newWorld(t *rapid.T, dir string) *world {
	w := &world{liar: newLiar(nil), dir: dir}
	size := rapid.SampledFrom([]int{1, 10, 100, 3000, 3000, 3000, 70_000, 200_000, 200_000, 3 << 20}).Draw(t, "size")
	for i, s := range allStates() {
		w.states = append(w.states, s[:min(len(s), size+i)])
	}
	w.enter(0)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.root, err = os.OpenRoot(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.root.Close()
		os.RemoveAll(dir)
	})
	return w
}

func (w *world) enter(state int) {
	w.state = state
	w.content, w.valid.ETag = w.states[state], fmt.Sprintf(`"%d"`, state)
}

// whole reports whether data is the complete resource in any of its states.
func (w *world) whole(data []byte) bool {
	for _, s := range w.states {
		if bytes.Equal(data, s) {
			return true
		}
	}
	return false
}

// drawScript returns the server's behavior for the next requests.
func (w *world) drawScript(t *rapid.T) []reply {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) reply {
		r := reply{noRange: rapid.Bool().Draw(t, "noRange"), blind: rapid.Bool().Draw(t, "blind")}
		switch rapid.IntRange(0, 8).Draw(t, "fault") {
		case 0:
			r.err = &fetch.Error{Code: fetch.ErrBusy, Retry: rapid.Bool().Draw(t, "retry")}
		case 1:
			r.shift = rapid.Int64Range(0, 5).Draw(t, "shift")
		case 2:
			r.size = rapid.Int64Range(0, 2).Draw(t, "more")
		case 3:
			r.unsized = true
		case 4:
			r.bare = true
		case 5:
			r.edit = func(*liar) { w.enter((w.state + 1) % len(w.states)) }
		case 6:
			r.short = rapid.Int64Range(0, 20).Draw(t, "short")
		default:
			r.bare = rapid.Bool().Draw(t, "bare")
			r.cut = rapid.Int64Range(1, int64(len(w.states[0]))).Draw(t, "cut")
		}
		return r
	}), 0, 12).Draw(t, "script")
}

// drawDownloader returns a Downloader for a system that may lack some operations.
func (w *world) drawDownloader(t *rapid.T) *download.Downloader {
	d := &download.Downloader{Client: fetch.New(nil, w.load), Root: w.root,
		Sync: rapid.SampledFrom([]download.Sync{download.SyncBatch, download.SyncEach, download.SyncNone}).Draw(t, "sync")}
	refused := rapid.SampledFrom([]string{"", "unnamed", "renameNew"}).Draw(t, "refused")
	download.Watch(d, func(op, _ string) error {
		switch op {
		case refused:
			return errors.ErrUnsupported
		case "sync", "syncFileSystem":
			return download.ErrDone // other tests wait for the disk
		}
		return nil
	})
	return d
}

// TestNeverWrong runs downloads from a server that fails, changes and sends wrong responses. A file
// with the final name must always be one complete state of the resource, and the bytes passed to a
// writer the beginning of one.
func TestNeverWrong(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		w := newWorld(t, fmt.Sprintf("%s/%d", base, runs))
		w.script = w.drawScript(t)
		d := w.drawDownloader(t)
		for run := range 4 {
			opts := &download.Options{Exists: rapid.SampledFrom([]download.Exists{download.NewName, download.Overwrite, download.Resume}).Draw(t, "exists"),
				Retry: retry.Policy{Wait: 1}, Segments: rapid.SampledFrom([]int{0, 3}).Draw(t, "segments"), SHA256: rapid.Bool().Draw(t, "digest")}
			r, err := d.Get(t.Context(), liarURL, "", opts)
			if err == nil {
				data, err := w.root.ReadFile(r.Name)
				if err != nil || !w.whole(data) {
					t.Fatalf("run %d: %s is wrong, %d bytes, %v", run, r.Name, len(data), err)
				}
			}
			if data, err := w.root.ReadFile("file.bin"); err == nil && !w.whole(data) {
				t.Fatalf("run %d: file.bin is wrong", run)
			}
		}
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		w.script = w.drawScript(t)
		var out bytes.Buffer
		_, err := d.Copy(t.Context(), &fetch.Request{URL: uri.MustParse(liarURL)}, &out, &download.Options{Retry: retry.Policy{Wait: 1}})
		beginning := false
		for _, s := range w.states {
			beginning = beginning || bytes.HasPrefix(s, out.Bytes())
		}
		if !beginning || err == nil && !w.whole(out.Bytes()) {
			t.Fatalf("the writer got %d wrong bytes, %v", out.Len(), err)
		}
	})
}

// drawFiles creates files that other tools and earlier runs may have left. It returns the content of
// the file with the final name.
func (w *world) drawFiles(t *rapid.T) []byte {
	content := rapid.Custom(func(t *rapid.T) []byte {
		s := rapid.SampledFrom(w.states).Draw(t, "state")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return s
		case 1:
			return append(bytes.Clone(s), pattern(rapid.IntRange(1, 100_000).Draw(t, "more"), 9)...)
		case 2:
			return pattern(rapid.IntRange(1, 100_000).Draw(t, "other"), 9)
		}
		return s[:rapid.IntRange(0, len(s)).Draw(t, "length")]
	})
	var there []byte
	if rapid.Bool().Draw(t, "file") {
		there = content.Draw(t, "content")
		w.write(t, "file.bin", there)
	}
	if rapid.Bool().Draw(t, "part") {
		return there
	}
	state := rapid.IntRange(0, len(w.states)-1).Draw(t, "part's state")
	s := bytes.Clone(w.states[state])
	n := rapid.IntRange(0, len(s)).Draw(t, "part's length")
	record := ""
	switch rapid.IntRange(0, 3).Draw(t, "record") {
	case 0:
		record = fmt.Sprintf(`,"size":%d,"etag":"\"%d\""`, len(s), state)
	case 1:
		record = fmt.Sprintf(`,"size":%d`, rapid.SampledFrom([]int{-1, len(s)}).Draw(t, "recorded size"))
	case 2:
		clear(s[n/2 : n])
		if n < 2 {
			break
		}
		record = fmt.Sprintf(`,"size":%d,"etag":"\"%d\"","missing":[[%d,%d]]`, len(s), state, n/2, n)
		n = len(s)
	}
	w.write(t, "file.bin.part", s[:n])
	if record != "" {
		w.write(t, "file.bin.part.json", []byte(`{"version":1,"url":"`+liarURL+`"`+record+`}`))
	}
	return there
}

func (w *world) write(t *rapid.T, name string, data []byte) {
	if err := w.root.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestResumeIsWhole checks runs with Resume in a directory with arbitrary files. A run that succeeds
// leaves the complete resource under the requested name. A run that fails damages nothing.
func TestResumeIsWhole(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		w := newWorld(t, fmt.Sprintf("%s/%d", base, runs))
		there := w.drawFiles(t)
		w.script = w.drawScript(t)
		d := w.drawDownloader(t)
		for run := range 3 {
			r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume, Retry: retry.Policy{Wait: 1},
				Segments: rapid.SampledFrom([]int{0, 3}).Draw(t, "segments"), SHA256: rapid.Bool().Draw(t, "digest")})
			data, missing := w.root.ReadFile("file.bin")
			switch {
			case err == nil && (r.Name != "file.bin" || !w.whole(data)):
				t.Fatalf("run %d: %s is wrong, %d bytes, %v", run, r.Name, len(data), missing)
			case missing == nil && !w.whole(data) && !bytes.Equal(data, there):
				t.Fatalf("run %d: file.bin has %d bytes, and had %d", run, len(data), len(there))
			}
			if _, err := w.root.Lstat("file.bin.1"); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("run %d: another file: %v", run, err)
			}
		}
	})
}
