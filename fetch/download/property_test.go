package download_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// TestNeverWrong lets servers fail, change and lie in any order, over several
// runs, and checks that a file of the final name is always one whole state of
// the resource, and that a writer gets nothing but the beginning of one.
func TestNeverWrong(t *testing.T) {
	t.Parallel()
	states := make([][]byte, 4)
	for i := range states {
		states[i] = pattern(3<<20+i, byte(i))
	}
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		dir := fmt.Sprintf("%s/%d", base, runs)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		size := rapid.SampledFrom([]int{1, 10, 100, 3000, 3000, 3000, 3000, 3 << 20}).Draw(t, "size")
		state := 0
		l := newLiar(nil)
		change := func(l *liar) {
			l.content = states[state][:min(len(states[state]), size+state)]
			l.valid.ETag = fmt.Sprintf(`"%d"`, state)
		}
		change(l)
		fault := rapid.Custom(func(t *rapid.T) reply {
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
				r.edit = func(l *liar) {
					state = (state + 1) % len(states)
					change(l)
				}
			case 6:
				r.short = rapid.Int64Range(0, 20).Draw(t, "short")
			default:
				r.cut = rapid.Int64Range(1, int64(size)).Draw(t, "cut")
			}
			return r
		})
		l.script = rapid.SliceOfN(fault, 0, 12).Draw(t, "script")
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		d := &download.Downloader{Client: fetch.New(nil, l.load), Root: root}
		whole := func(data []byte) bool {
			for i, s := range states {
				if bytes.Equal(data, s[:min(len(s), size+i)]) {
					return true
				}
			}
			return false
		}
		for run := range 4 {
			opts := &download.Options{Exists: rapid.SampledFrom([]download.Exists{download.NewName, download.Overwrite, download.Resume}).Draw(t, "exists"),
				Wait: 1, Segments: rapid.SampledFrom([]int{0, 3}).Draw(t, "segments"), SHA256: rapid.Bool().Draw(t, "digest")}
			r, err := d.Get(t.Context(), liarURL, "", opts)
			if err == nil {
				data, err := root.ReadFile(r.Name)
				if err != nil || !whole(data) {
					t.Fatalf("run %d: %s is wrong, %d octets, %v", run, r.Name, len(data), err)
				}
			}
			if data, err := root.ReadFile("file.bin"); err == nil && !whole(data) {
				t.Fatalf("run %d: file.bin is wrong", run)
			}
		}
		l.script = rapid.SliceOfN(fault, 0, 12).Draw(t, "script of a copy")
		var out bytes.Buffer
		_, err = d.Copy(t.Context(), &fetch.Request{URL: uri.MustParse(liarURL)}, &out, &download.Options{Wait: 1})
		beginning := false
		for i, s := range states {
			beginning = beginning || bytes.HasPrefix(s[:min(len(s), size+i)], out.Bytes())
		}
		if !beginning || err == nil && !whole(out.Bytes()) {
			t.Fatalf("the writer got %d wrong octets, %v", out.Len(), err)
		}
	})
}
