package download_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
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
	drawn  []reply // for the current run
	state  int     // index of the current state
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

// drawContradiction returns a response that is not the resource, or the resource in an odd form.
func (w *world) drawContradiction(t *rapid.T) reply {
	page := reply{whole: []byte("<html>"), mediaType: "text/html"}
	switch rapid.IntRange(0, 9).Draw(t, "contradiction") {
	case 0:
		return reply{err: &fetch.Error{Code: rapid.SampledFrom([]fetch.Code{fetch.ErrProtocol, fetch.ErrRange, fetch.ErrRefused, fetch.ErrServer, fetch.ErrNotModified,
			fetch.ErrChanged, fetch.ErrAuth, fetch.ErrNotFound, fetch.ErrNetwork, fetch.ErrBusy}).Draw(t, "code"), Retry: rapid.Bool().Draw(t, "retry")}}
	case 1:
		return page
	case 2:
		page.valid = fetch.Validator{ModTime: morning.AddDate(1, 0, 0)}
		return page
	case 3: // the rest with status 200
		return reply{rest: rapid.IntRange(1, len(w.content)-1).Draw(t, "from"), valid: rapid.SampledFrom([]fetch.Validator{{}, w.valid}).Draw(t, "validator")}
	case 4:
		return reply{ignored: true}
	case 5:
		return reply{none: true}
	case 6:
		return reply{shift: rapid.Int64Range(1, 5).Draw(t, "shift")}
	case 7:
		return reply{bare: true, noRange: rapid.Bool().Draw(t, "noRange"), unsized: rapid.Bool().Draw(t, "unsized")}
	case 8:
		return reply{coding: "gzip", noRange: rapid.Bool().Draw(t, "noRange")}
	}
	return reply{cut: rapid.Int64Range(1, int64(len(w.content))).Draw(t, "cut"), noRange: rapid.Bool().Draw(t, "noRange")}
}

// TestContradictionsLoseNothing resumes a file from a server whose resource does not change, and which
// fails and contradicts. No run reduces the number of right bytes, and a run that succeeds has all.
func TestContradictionsLoseNothing(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		w := newWorld(t, fmt.Sprintf("%s/%d", base, runs))
		if len(w.content) < 10 {
			return
		}
		w.valid = rapid.SampledFrom([]fetch.Validator{{ETag: `"0"`, ModTime: morning}, {ETag: `"0"`}, {ModTime: morning}}).Draw(t, "validator")
		d := w.drawDownloader(t)
		segments := rapid.SampledFrom([]int{0, 3}).Draw(t, "segments")
		w.script = []reply{{cut: rapid.Int64Range(1, int64(len(w.content))-1).Draw(t, "first cut"), mediaType: "a/b"}}
		had := int64(0)
		for run := range 4 {
			w.drawn = rapid.SliceOfN(rapid.Custom(w.drawContradiction), 0, 6).Draw(t, "script")
			w.script = append(w.script, w.drawn...)
			_, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: download.Resume, Retry: retry.Policy{Wait: 1, Tries: 2}, Segments: segments})
			if data, missing := w.root.ReadFile("file.bin"); missing == nil || err == nil {
				if !bytes.Equal(data, w.content) {
					t.Fatalf("run %d: file.bin is wrong, %d bytes of %d, %v", run, len(data), len(w.content), err)
				}
				return
			}
			have, _ := d.Partial("file.bin")
			revoked := segments > 0 && slices.ContainsFunc(w.drawn, func(r reply) bool { return r.ignored }) // then no range counts
			if have < had && !revoked {
				t.Fatalf("run %d: %d bytes of %d are left after %v", run, have, had, err)
			}
			if had = have; had == 0 {
				return // nothing is known any more
			}
			if part, _ := w.root.ReadFile("file.bin.part"); segments == 0 && !bytes.HasPrefix(w.content, part) {
				t.Fatalf("run %d: wrong bytes in the part after %v", run, err)
			}
			w.script = nil
		}
	})
}
