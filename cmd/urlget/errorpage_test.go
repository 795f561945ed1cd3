package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// TestErrorPageReplacesFileAtOnce overwrites a file that has a second name, which keeps the old content if
// the file was replaced and not written in place.
func TestErrorPageReplacesFileAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.WriteFile("page", []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := root.Link("page", "second"); err != nil {
		t.Skip("links are not supported here: ", err)
	}
	x := &jobs{files: &download.Downloader{Root: root}}
	for _, tt := range []struct {
		exists download.Exists
		name   string
	}{{download.Overwrite, "page"}, {download.NewName, "page.1"}} {
		j := &job.Job{URL: uri.MustParse("http://h.example/page"), Output: "page", Exists: tt.exists}
		name, err := x.writeErrorPage(j, &fetch.Error{Body: []byte("error")})
		if got, _ := root.ReadFile(tt.name); name != tt.name || err != nil || string(got) != "error" {
			t.Errorf("%s: %q has %q, %v", tt.name, name, got, err)
		}
	}
	if got, err := root.ReadFile("second"); string(got) != "old" {
		t.Errorf("the old file has %q, %v", got, err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*.tmp*")); len(names) > 0 {
		t.Errorf("left over: %q", names)
	}
}
