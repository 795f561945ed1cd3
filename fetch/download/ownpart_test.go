package download_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// TestResumePart resumes parts of earlier runs that replace a file.
func TestResumePart(t *testing.T) {
	t.Parallel()
	content, other := pattern(300_000, 1), pattern(300_000, 2)
	type files = map[string]string
	record := func(s string) string { return `{"version":1,"url":"` + liarURL + `","size":300000` + s + `}` }
	const tag, modTime = `,"etag":"\"1\""`, `,"mtime":"1994-12-01T08:00:00Z"`
	half := string(content[:200_000])
	tests := []struct {
		name     string
		exists   download.Exists
		ignore   bool // ResumePart is not set
		files    files
		script   []reply
		requests []string
	}{
		{name: "overwrite", exists: download.Overwrite, files: files{"file.bin": "old", "file.bin.part": half, "file.bin.part.json": record(tag)},
			requests: []string{"200000+0 if"}},
		{name: "not requested", ignore: true, exists: download.Overwrite, files: files{"file.bin": "old", "file.bin.part": half, "file.bin.part.json": record(tag)},
			requests: []string{"all"}},
		{name: "newer", exists: download.Newer, files: files{"file.bin": "old", "file.bin.part": half, "file.bin.part.json": record(tag)},
			requests: []string{"200000+0 if"}},
		{name: "no file yet", exists: download.Newer, files: files{"file.bin.part": half, "file.bin.part.json": record(tag)},
			requests: []string{"200000+0 if"}},
		{name: "skip, no file yet", exists: download.Skip, files: files{"file.bin.part": half, "file.bin.part.json": record(tag)},
			requests: []string{"200000+0 if"}},
		{name: "known by its time", exists: download.Newer, files: files{"file.bin": "old", "file.bin.part": half, "file.bin.part.json": record(modTime)},
			requests: []string{"134464+0 if"}},
		{name: "of something else of the same time", exists: download.Overwrite,
			files:    files{"file.bin": "old", "file.bin.part": string(other[:200_000]), "file.bin.part.json": record(modTime)},
			requests: []string{"134464+0 if", "all", "all"}},
		{name: "of another version", exists: download.Newer, files: files{"file.bin": "old", "file.bin.part": half, "file.bin.part.json": record(`,"etag":"\"0\""`)},
			requests: []string{"200000+0 if"}},
		{name: "ranges ignored", exists: download.Overwrite, files: files{"file.bin.part": half, "file.bin.part.json": record(tag)},
			script: []reply{{noRange: true}}, requests: []string{"200000+0 if"}},
		{name: "complete", exists: download.Overwrite, files: files{"file.bin.part": string(content), "file.bin.part.json": record(tag)},
			requests: []string{"299999+0 if"}},
		{name: "in segments", exists: download.Overwrite, files: files{"file.bin.part": string(content), "file.bin.part.json": record(tag + `,"missing":[[5,9]]`)},
			requests: []string{"all"}},
		{name: "without a record", exists: download.Overwrite, files: files{"file.bin.part": half}, requests: []string{"all"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, data := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(filepath.Join(dir, name), morning.AddDate(-1, 0, 0), morning.AddDate(-1, 0, 0)); err != nil {
					t.Fatal(err)
				}
			}
			l := newLiar(content, tt.script...)
			var responses int
			opts := &download.Options{Exists: tt.exists, ResumePart: !tt.ignore, Response: func(*fetch.Response) error { responses++; return nil }}
			r, err := l.downloader(t, dir).Get(t.Context(), liarURL, "file.bin", opts)
			if err != nil || r.Outcome != download.Saved || responses == 0 {
				t.Fatalf("%+v, %v, %d responses", r, err, responses)
			}
			if have := contents(t, dir); !maps.Equal(have, files{"file.bin": string(content)}) {
				t.Errorf("files %q, or contents wrong", names(have))
			}
			if got := l.requests(); !slices.Equal(got, tt.requests) {
				t.Errorf("requests %q, want %q", got, tt.requests)
			}
		})
	}
}

// A part of another URL is kept.
func TestResumePartOfAnotherURL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := pattern(100_000, 1)
	before := map[string]string{"file.bin.part": "part", "file.bin.part.json": fmt.Sprintf(`{"version":1,"url":"x-liar://other/","etag":"\"1\"","size":%d}`, len(content))}
	for name, data := range before {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newLiar(content).downloader(t, dir).Get(t.Context(), liarURL, "file.bin", &download.Options{Exists: download.Overwrite, ResumePart: true}); err != nil {
		t.Fatal(err)
	}
	before["file.bin"] = string(content)
	if have := contents(t, dir); !maps.Equal(have, before) {
		t.Errorf("files %q, want %q", names(have), names(before))
	}
}
