package download_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// stop is an error that ends a run and leaves a partial file.
var stop = &fetch.Error{Code: fetch.ErrAuth}

// TestExists runs consecutive downloads in one directory and compares the files at the end.
func TestExists(t *testing.T) {
	t.Parallel()
	old, content, changed := string(pattern(3000, 1)), string(pattern(9000, 2)), string(pattern(9000, 3))
	change := func(l *liar) { l.content, l.valid.ETag = []byte(changed), `"2"` }
	type files = map[string]string
	unproven := func(more string) string {
		return fmt.Sprintf(`{"version":1,"tool":"test","url":"%s","size":%d%s}`+"\n", liarURL, len(content), more)
	}
	tests := []struct {
		name     string
		files    files
		mtime    time.Time // of files; zero means now
		script   []reply
		exists   []download.Exists // one for each run
		want     files
		outcome  download.Outcome // of the last run
		err      fetch.Code
		requests []string
	}{
		{name: "new name", files: files{"file.bin": old}, exists: []download.Exists{download.NewName},
			want: files{"file.bin": old, "file.bin.1": content}, requests: []string{"all"}},
		{name: "next new name", files: files{"file.bin": old, "file.bin.1": old}, exists: []download.Exists{download.NewName},
			want: files{"file.bin": old, "file.bin.1": old, "file.bin.2": content}, requests: []string{"all"}},
		{name: "overwrite", files: files{"file.bin": old}, exists: []download.Exists{download.Overwrite},
			want: files{"file.bin": content}, requests: []string{"all"}},
		{name: "overwrite fails", files: files{"file.bin": old}, exists: []download.Exists{download.Overwrite}, script: []reply{{cut: 5, bare: true}, {err: stop}},
			want: files{"file.bin": old, "file.bin.part": content[:5], "file.bin.part.json": unproven(`,"replace":true`)}, err: fetch.ErrAuth, requests: []string{"all", "all"}},
		{name: "skip", files: files{"file.bin": old}, exists: []download.Exists{download.Skip},
			want: files{"file.bin": old}, outcome: download.Skipped},
		{name: "skip by suggested name", files: files{"x.bin": old}, exists: []download.Exists{download.Skip}, script: []reply{{suggest: "x.bin"}},
			want: files{"x.bin": old}, outcome: download.Skipped, requests: []string{"all"}},
		{name: "skip what is not there", exists: []download.Exists{download.Skip}, want: files{"file.bin": content}, requests: []string{"all"}},
		{name: "newer than the resource", files: files{"file.bin": old}, exists: []download.Exists{download.Newer},
			want: files{"file.bin": old}, outcome: download.Unchanged, requests: []string{"all if"}},
		{name: "older than the resource", files: files{"file.bin": old}, mtime: morning.Add(-time.Hour), exists: []download.Exists{download.Newer},
			want: files{"file.bin": content}, requests: []string{"all if"}},
		{name: "same time, condition ignored", files: files{"file.bin": changed}, mtime: morning, exists: []download.Exists{download.Newer}, script: []reply{{blind: true}},
			want: files{"file.bin": changed}, outcome: download.Unchanged, requests: []string{"all if"}},
		{name: "same time, other size", files: files{"file.bin": old}, mtime: morning, exists: []download.Exists{download.Newer}, script: []reply{{blind: true}},
			want: files{"file.bin": content}, requests: []string{"all if"}},
		{name: "the same without a time", files: files{"file.bin": content}, exists: []download.Exists{download.Newer}, script: []reply{{blind: true, bare: true}},
			want: files{"file.bin": content}, outcome: download.Unchanged, requests: []string{"all if"}},
		{name: "the same size without a time", files: files{"file.bin": changed}, exists: []download.Exists{download.Newer}, script: []reply{{blind: true, bare: true}},
			want: files{"file.bin": content}, requests: []string{"all if"}},
		{name: "the same without time and size", files: files{"file.bin": content}, exists: []download.Exists{download.Newer}, script: []reply{{blind: true, bare: true, unsized: true}},
			want: files{"file.bin": content}, outcome: download.Unchanged, requests: []string{"all if"}},
		{name: "overwrite the same without a time", files: files{"file.bin": content}, exists: []download.Exists{download.Overwrite}, script: []reply{{bare: true}},
			want: files{"file.bin": content}, requests: []string{"all"}},

		{name: "resume", exists: []download.Exists{download.NewName, download.Resume}, script: []reply{{cut: 100}, {err: stop}},
			want: files{"file.bin": content}, requests: []string{"all", "100+0 if", "100+0 if"}},
		{name: "resume twice", exists: []download.Exists{download.Resume, download.Resume, download.Resume},
			script: []reply{{cut: 100}, {err: stop}, {cut: 200}, {err: stop}},
			want:   files{"file.bin": content}, requests: []string{"all", "100+0 if", "100+0 if", "300+0 if", "300+0 if"}},
		{name: "resume what has changed", exists: []download.Exists{download.Resume, download.Resume}, script: []reply{{cut: 100}, {err: stop}, {edit: change}},
			want: files{"file.bin": changed}, requests: []string{"all", "100+0 if", "100+0 if", "all"}},
		{name: "resume under the suggested name", exists: []download.Exists{download.Resume, download.Resume},
			script: []reply{{cut: 100, suggest: "x.bin"}, {err: stop}, {suggest: "x.bin"}, {suggest: "x.bin"}},
			want:   files{"x.bin": content}, requests: []string{"all", "100+0 if", "all", "100+0 if"}},
		{name: "no resuming without a wish", exists: []download.Exists{download.NewName, download.NewName}, script: []reply{{cut: 100}, {err: stop}},
			want: files{"file.bin": content}, requests: []string{"all", "100+0 if", "all"}},
		{name: "bytes without a validator are kept", exists: []download.Exists{download.Resume}, script: []reply{{cut: 100, bare: true}, {err: stop}},
			want: files{"file.bin.part": content[:100], "file.bin.part.json": unproven("")}, err: fetch.ErrAuth, requests: []string{"all", "all"}},
		{name: "bytes without a validator are compared", exists: []download.Exists{download.Resume, download.Resume}, script: []reply{{cut: 100, bare: true}, {err: stop}, {bare: true}},
			want: files{"file.bin": content}, requests: []string{"all", "all", "all"}},
		{name: "resume what is complete, after a run that was killed", files: files{"file.bin": content, "file.bin.part.json": `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":9000}`},
			mtime: morning, exists: []download.Exists{download.Resume}, want: files{"file.bin": content}, outcome: download.Unchanged, requests: []string{"all"}},
		{name: "part without record", files: files{"file.bin.part": old}, exists: []download.Exists{download.Resume},
			want: files{"file.bin": content}, requests: []string{"all"}},
		{name: "record that is no record", files: files{"file.bin.part": old, "file.bin.part.json": "{"}, exists: []download.Exists{download.Resume},
			want: files{"file.bin": content}, requests: []string{"all"}},
		{name: "record of another URL", files: files{"file.bin.part": old,
			"file.bin.part.json": `{"version":1,"url":"x-liar://other/","etag":"\"1\"","size":9000}`}, exists: []download.Exists{download.Resume},
			want: files{"file.bin": content}, requests: []string{"all"}},
		{name: "part of another URL that could be continued", files: files{"file.bin.part": old,
			"file.bin.part.json": `{"version":1,"url":"x-liar://other/","etag":"\"1\"","size":9000}`}, exists: []download.Exists{download.NewName},
			want: files{"file.bin": content, "file.bin.part": old,
				"file.bin.part.json": `{"version":1,"url":"x-liar://other/","etag":"\"1\"","size":9000}`}, requests: []string{"all"}},
		{name: "part with a number", files: files{"file.bin.part": old,
			"file.bin.part.json": `{"version":1,"url":"x-liar://other/","etag":"\"1\"","size":9000}`, "file.bin.1": old, "file.bin.2.part": content[:100],
			"file.bin.2.part.json": `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":9000}`}, exists: []download.Exists{download.Resume},
			want: files{"file.bin.part": old, "file.bin.part.json": `{"version":1,"url":"x-liar://other/","etag":"\"1\"","size":9000}`,
				"file.bin.1": old, "file.bin.2": content}, requests: []string{"100+0 if"}},
		{name: "part with a number beside a file", files: files{"file.bin": old, "file.bin.1.part": content[:100],
			"file.bin.1.part.json": `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":9000}`}, exists: []download.Exists{download.Resume},
			want: files{"file.bin": old, "file.bin.1": content}, requests: []string{"100+0 if"}},
		{name: "part with a number of another URL", files: files{"file.bin.1.part": old,
			"file.bin.1.part.json": `{"version":1,"url":"x-liar://other/","etag":"\"1\"","size":9000}`}, exists: []download.Exists{download.Resume},
			want: files{"file.bin": content, "file.bin.1.part": old,
				"file.bin.1.part.json": `{"version":1,"url":"x-liar://other/","etag":"\"1\"","size":9000}`}, requests: []string{"all"}},
		{name: "record with impossible ranges", files: files{"file.bin.part": old,
			"file.bin.part.json": `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":9000,"missing":[[5,3]]}`}, exists: []download.Exists{download.Resume},
			want: files{"file.bin": content}, requests: []string{"all"}},
		{name: "part larger than the resource", files: files{"file.bin.part": content + old,
			"file.bin.part.json": `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":9000}`}, exists: []download.Exists{download.Resume},
			want: files{"file.bin": content}, requests: []string{"all"}},
		{name: "complete part", files: files{"file.bin.part": content,
			"file.bin.part.json": `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":9000}`}, exists: []download.Exists{download.Resume},
			want: files{"file.bin": content}, requests: []string{"all if"}},
		{name: "complete part, condition ignored", files: files{"file.bin.part": content,
			"file.bin.part.json": `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":9000}`}, exists: []download.Exists{download.Resume}, script: []reply{{blind: true}},
			want: files{"file.bin": content}, requests: []string{"all if"}},
		{name: "complete part of what has changed", files: files{"file.bin.part": content,
			"file.bin.part.json": `{"version":1,"url":"` + liarURL + `","etag":"\"1\"","size":9000}`}, exists: []download.Exists{download.Resume}, script: []reply{{edit: change}},
			want: files{"file.bin": changed}, requests: []string{"all if"}},
		{name: "resume a complete file", files: files{"file.bin": content}, mtime: morning, exists: []download.Exists{download.Resume},
			want: files{"file.bin": content}, outcome: download.Unchanged, requests: []string{"all"}},
		{name: "resume the beginning that another tool left", files: files{"file.bin": content[:3000]}, exists: []download.Exists{download.Resume},
			want: files{"file.bin": content}, requests: []string{"all"}},
		{name: "resume a file of something else", files: files{"file.bin": old}, exists: []download.Exists{download.Resume},
			want: files{"file.bin": old}, err: fetch.ErrChanged, requests: []string{"all"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, data := range tt.files {
				file := filepath.Join(dir, name)
				if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
				if !tt.mtime.IsZero() {
					if err := os.Chtimes(file, tt.mtime, tt.mtime); err != nil {
						t.Fatal(err)
					}
				}
			}
			synctest.Test(t, func(t *testing.T) {
				l := newLiar([]byte(content), tt.script...)
				d := l.downloader(t, dir)
				for i, exists := range tt.exists {
					r, err := d.Get(t.Context(), liarURL, "", &download.Options{Exists: exists, SHA256: i%2 == 1})
					if i < len(tt.exists)-1 {
						if !errors.Is(err, fetch.ErrAuth) {
							t.Fatalf("run %d: %v", i, err)
						}
						continue
					}
					if fetch.CodeOf(err) != tt.err {
						t.Fatal(err)
					}
					if err == nil && r.Outcome != cmp.Or(tt.outcome, download.Saved) {
						t.Errorf("outcome %v, want %v", r.Outcome, cmp.Or(tt.outcome, download.Saved))
					}
					if err == nil && (tt.want[r.Name] == "" || int64(len(tt.want[r.Name])) != r.Size) {
						t.Errorf("result %+v", r)
					}
				}
				if have := contents(t, dir); !maps.Equal(have, tt.want) {
					t.Errorf("files %q, want %q, or contents wrong", names(have), names(tt.want))
				}
				if got := l.requests(); !slices.Equal(got, tt.requests) {
					t.Errorf("requests %q, want %q", got, tt.requests)
				}
			})
		})
	}
}

// An existing file is kept if the content equals that of Options.Same, at any size.
func TestSame(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		size      int
		exists    download.Exists
		missing   string // name of a file to remove
		changed   bool
		timed     bool
		unchanged bool
	}{
		"small":                   {size: 3000, exists: download.Overwrite, unchanged: true},
		"large":                   {size: 3 << 20, exists: download.Newer, unchanged: true},
		"other content":           {size: 3 << 20, exists: download.Overwrite, changed: true},
		"the server tells a time": {size: 3000, exists: download.Overwrite, timed: true},
		"no file":                 {size: 3000, exists: download.Overwrite, missing: "file.bin"},
		"nothing to compare":      {size: 3000, exists: download.Overwrite, missing: "sent"},
		"another name is wanted":  {size: 3000, exists: download.NewName},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, content := t.TempDir(), pattern(tt.size, 1)
			for file, data := range map[string][]byte{"file.bin": []byte("converted"), "sent": content} {
				if file == tt.missing {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.changed {
				content = pattern(tt.size, 2)
			}
			d := newLiar(content, reply{bare: !tt.timed, blind: true}).downloader(t, dir)
			r, err := d.Get(t.Context(), liarURL, "file.bin", &download.Options{Exists: tt.exists, Same: "sent"})
			if err != nil {
				t.Fatal(err)
			}
			have := contents(t, dir)
			if unchanged := r.Outcome == download.Unchanged; unchanged != tt.unchanged || (have["file.bin"] == "converted") != (unchanged || tt.exists == download.NewName) {
				t.Errorf("outcome %v, %d bytes in the file", r.Outcome, len(have["file.bin"]))
			}
			for file := range have {
				if strings.Contains(file, ".part") {
					t.Errorf("%s is left", file)
				}
			}
		})
	}
}

// A record has all required fields and no password.
func TestRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := newLiar(pattern(500, 1), reply{cut: 100}, reply{err: stop})
	r, err := l.downloader(t, dir).Get(t.Context(), "x-liar://me:secret@host/file.bin", "", nil)
	if !errors.Is(err, fetch.ErrAuth) {
		t.Fatal(err)
	}
	have := contents(t, dir)
	record := have["file.bin.part.json"]
	if r == nil || r.Written != 100 {
		t.Errorf("the result is %+v, and 100 bytes came", r)
	}
	if len(have["file.bin.part"]) != 100 || strings.Contains(record, "secret") {
		t.Errorf("part of %d bytes, record %s", len(have["file.bin.part"]), record)
	}
	for _, want := range []string{`"tool":"test"`, `"version":1`, `"etag":"\"1\""`, `"mtime":"1994-12-01T08:00:00Z"`, `"size":500`} {
		if !strings.Contains(record, want) {
			t.Errorf("the record lacks %s: %s", want, record)
		}
	}
}

func TestRefusedNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".", "..", "../x", "a/../b", "a/..", "./a", "a//b", "a/", "/", "/etc/x", "a\x00b",
		strings.Repeat("x", 256), "a/" + strings.Repeat("x", 256)} {
		dir := t.TempDir()
		l := newLiar(pattern(5, 1))
		class := fetch.ErrRequest
		if len(name) > 255 {
			class = fetch.ErrFile
		}
		if _, err := l.downloader(t, dir).Get(t.Context(), liarURL, name, nil); !errors.Is(err, class) || len(l.requests()) != 0 {
			t.Errorf("name %q: %v after %d requests", name, err, len(l.requests()))
		}
	}
}

func TestLongestName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := strings.Repeat("x", 251) + ".bin"
	d := newLiar(pattern(3<<20, 1), reply{cut: 2 << 20}, reply{err: stop}).downloader(t, dir)
	if _, err := d.Get(t.Context(), liarURL, name, nil); !errors.Is(err, fetch.ErrAuth) {
		t.Fatal(err)
	}
	if have := contents(t, dir); len(have) != 2 {
		t.Errorf("files %q", names(have))
	}
	for range 3 {
		if _, err := d.Get(t.Context(), liarURL, name, &download.Options{Exists: download.NewName}); err != nil {
			t.Fatal(err)
		}
	}
	if have := contents(t, dir); len(have) != 3 {
		t.Errorf("files %q", names(have))
	}
}

// Symbolic links in the directory are not followed.
func TestSymlinks(t *testing.T) {
	t.Parallel()
	content := pattern(1<<20+1, 1) // its part has a record from the beginning
	for _, exists := range []download.Exists{download.NewName, download.Overwrite, download.Skip, download.Resume, download.Newer} {
		for _, link := range []string{"file.bin", "file.bin.part", "file.bin.part.json", "file.bin.part.new"} {
			outside, dir := t.TempDir(), t.TempDir()
			target := filepath.Join(outside, "precious")
			inside := filepath.Join(dir, "precious")
			for _, file := range []string{target, inside} {
				if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(file, filepath.Join(dir, link)); err != nil {
					t.Skip(err)
				}
				l := newLiar(content)
				_, err := l.downloader(t, dir).Get(t.Context(), liarURL, "file.bin", &download.Options{Exists: exists})
				if err != nil && !errors.Is(err, fetch.ErrFile) {
					t.Errorf("mode %d, link %s: %v", exists, link, err)
				}
				if data, err := os.ReadFile(file); err != nil || string(data) != "precious" {
					t.Errorf("mode %d, link %s: the target is damaged: %v", exists, link, err)
				}
				for name := range contents(t, dir) {
					if name != "precious" {
						os.Remove(filepath.Join(dir, name))
					}
				}
				if err := os.Remove(filepath.Join(dir, link)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
		}
	}
}

// Two concurrent transfers with the same name do not disturb each other.
func TestSameNameAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := pattern(100_000, 1)
	var inner error
	l := newLiar(content)
	d := l.downloader(t, dir)
	second := false
	_, err := d.Get(t.Context(), liarURL, "", &download.Options{Progress: func(int64, int64) {
		if !second {
			second = true
			_, inner = d.Get(t.Context(), liarURL, "", nil)
		}
	}})
	if err != nil || inner != nil {
		t.Fatal(err, inner)
	}
	want := map[string]string{"file.bin": string(content), "file.bin.1": string(content)}
	if have := contents(t, dir); !maps.Equal(have, want) {
		t.Errorf("files %q", names(have))
	}
}

// Errors of the local file system are final.
func TestFileErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "file.bin.part"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := newLiar(pattern(5, 1))
	_, err := l.downloader(t, dir).Get(t.Context(), liarURL, "", nil)
	if !errors.Is(err, fetch.ErrFile) || len(l.requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(l.requests()))
	}
	var e *fetch.Error
	if !errors.As(err, &e) || e.Retry {
		t.Errorf("error %#v", err)
	}
}
