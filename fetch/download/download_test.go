package download_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// contents returns the names and contents of the files in dir.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		all[e.Name()] = readString(t, filepath.Join(dir, e.Name()))
	}
	return all
}

// readString returns the content of a file. Unlike string(os.ReadFile), it allocates the content once:
// the tests read many files of some MiB.
func readString(t testing.TB, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b strings.Builder
	if info, err := f.Stat(); err == nil {
		b.Grow(int(info.Size()))
	}
	if _, err := io.Copy(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func names(m map[string]string) []string {
	var all []string
	for n := range m {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// TestFaults runs one download against a scripted server and compares the files and requests.
func TestFaults(t *testing.T) {
	t.Parallel()
	content := pattern(10_000, 1)
	changed := pattern(10_000, 2)
	busy := &fetch.Error{Code: fetch.ErrBusy, Retry: true}
	change := func(l *liar) { l.content, l.valid.ETag = changed, `"2"` }
	tests := []struct {
		name     string
		script   []reply
		want     []byte
		err      fetch.Code
		requests []string
		restarts int
		kept     int // bytes in the part after an error
	}{
		{name: "in one go", want: content, requests: []string{"all"}},
		{name: "cut once", script: []reply{{cut: 100}}, want: content, requests: []string{"all", "100+0 if"}},
		{name: "cut twice", script: []reply{{cut: 100}, {cut: 100}}, want: content, requests: []string{"all", "100+0 if", "200+0 if"}},
		{name: "ranges ignored", script: []reply{{cut: 100}, {noRange: true}}, want: content, requests: []string{"all", "100+0 if"}},
		{name: "wrong offset", script: []reply{{cut: 100}, {shift: 1}}, want: content, requests: []string{"all", "100+0 if", "all"}},
		{name: "changed", script: []reply{{cut: 100}, {edit: change}}, want: changed, requests: []string{"all", "100+0 if", "all"}, restarts: 1},
		{name: "changed, condition ignored", script: []reply{{cut: 100}, {edit: change, blind: true}}, want: changed,
			requests: []string{"all", "100+0 if", "all"}, restarts: 1},
		{name: "range without validator", script: []reply{{cut: 100}, {bare: true}}, want: content,
			requests: []string{"all", "100+0 if", "all"}},
		{name: "no validator", script: []reply{{cut: 100, bare: true}}, want: content, requests: []string{"all", "all"}, restarts: 1},
		{name: "range cut short", script: []reply{{cut: 100}, {short: 50}}, want: content, requests: []string{"all", "100+0 if", "9950+0 if"}},
		{name: "shrunk below the offset", script: []reply{{cut: 9000}, {edit: func(l *liar) { l.content, l.valid.ETag = content[:8000], `"2"` }}}, want: content[:8000],
			requests: []string{"all", "9000+0 if"}, restarts: 1},
		{name: "the same tag, shrunk below the offset", script: []reply{{cut: 9000}, {edit: func(l *liar) { l.content = content[:8000] }}}, err: fetch.ErrTruncated,
			requests: []string{"all", "9000+0 if", "all"}, kept: 9000},
		{name: "offset ignored", script: []reply{{cut: 100}, {ignored: true}}, want: content, requests: []string{"all", "100+0 if", "all"}},
		{name: "announces too little", script: []reply{{size: -1}}, err: fetch.ErrProtocol, requests: []string{"all"}, kept: 9999},
		{name: "busy, then fine", script: []reply{{err: busy}, {err: busy}}, want: content, requests: []string{"all", "all", "all"}},
		{name: "busy for ever", script: []reply{{err: busy}, {err: busy}, {err: busy}, {err: busy}, {err: busy}}, err: fetch.ErrBusy,
			requests: []string{"all", "all", "all", "all", "all"}},
		{name: "progress resets the count", script: []reply{{err: busy}, {err: busy}, {err: busy}, {cut: 1}, {err: busy}, {err: busy}, {err: busy}},
			want: content, requests: []string{"all", "all", "all", "all", "1+0 if", "1+0 if", "1+0 if", "1+0 if"}},
		{name: "refused", script: []reply{{err: &fetch.Error{Code: fetch.ErrRefused}}}, err: fetch.ErrRefused, requests: []string{"all"}},
		{name: "fails after the last byte", script: []reply{{cut: 10_000}}, want: content, requests: []string{"all", "all if"}},
		{name: "fails after the last byte, no validator", script: []reply{{cut: 10_000, bare: true}}, want: content, requests: []string{"all", "all"}, restarts: 1},
		{name: "size unknown", script: []reply{{unsized: true}}, want: content, requests: []string{"all"}},
		{name: "size unknown, cut", script: []reply{{unsized: true, cut: 10}, {unsized: true}}, want: content, requests: []string{"all", "10+0 if", "10000+0 if"}},
		{name: "size unknown, parts cut short", script: []reply{{unsized: true, cut: 10}, {unsized: true, short: 50}, {unsized: true, short: 20}}, want: content,
			requests: []string{"all", "10+0 if", "9950+0 if", "9980+0 if", "10000+0 if"}},
		{name: "size unknown, changed behind a part", script: []reply{{unsized: true, cut: 10}, {unsized: true, short: 50}, {unsized: true, edit: change}}, want: changed,
			requests: []string{"all", "10+0 if", "9950+0 if"}, restarts: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				l := newLiar(content, tt.script...)
				d := l.downloader(t, dir)
				restarts := 0
				r, err := d.Get(t.Context(), liarURL, "", &download.Options{SHA256: true, Restart: func(string) { restarts++ }})
				if got := l.requests(); !slices.Equal(got, tt.requests) {
					t.Errorf("requests %q, want %q", got, tt.requests)
				}
				if restarts != tt.restarts {
					t.Errorf("%d restarts, want %d", restarts, tt.restarts)
				}
				have := contents(t, dir)
				if tt.err != "" {
					if !errors.Is(err, tt.err) || len(have["file.bin.part"]) != tt.kept || have["file.bin"] != "" {
						t.Fatalf("error %v, files %q", err, names(have))
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(have) != 1 || have["file.bin"] != string(tt.want) {
					t.Fatalf("files %q, or content wrong", names(have))
				}
				sum := sha256.Sum256(tt.want)
				if r.Name != "file.bin" || r.Size != int64(len(tt.want)) || r.SHA256 != hex.EncodeToString(sum[:]) || r.Outcome != download.Saved {
					t.Errorf("result %+v", r)
				}
				info, err := os.Stat(filepath.Join(dir, "file.bin"))
				if err != nil || !bytes.Contains([]byte(tt.name), []byte("no validator")) && !info.ModTime().Equal(morning) {
					t.Errorf("time %v, %v", info.ModTime(), err)
				}
			})
		})
	}
}
