package mirror_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A directory serves files and a directory index in the format of nginx.
type directory struct {
	mu        sync.Mutex
	files     map[string]string
	times     map[string]time.Time
	requested []string
}

func (d *directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/d/")
	if name == "" {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><head><title>Index of /d/</title></head><body><pre><a href=\"../\">../</a>\n")
		for name, text := range d.files {
			fmt.Fprintf(w, "<a href=%q>%s</a>   %s   %d\n", name, name, d.times[name].UTC().Format("02-Jan-2006 15:04"), len(text))
		}
		return
	}
	text, ok := d.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	d.requested = append(d.requested, name)
	http.ServeContent(w, r, name, d.times[name], strings.NewReader(text))
}

func (d *directory) requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	requested := d.requested
	d.requested = nil
	slices.Sort(requested)
	return requested
}

func TestDirectoryIndexSavesRequests(t *testing.T) {
	t.Parallel()
	d := &directory{files: map[string]string{"a.txt": "a", "b.html": "<a href=c.bin>c</a>", "c.bin": "c", "new.txt": "new"},
		times: map[string]time.Time{"a.txt": day, "b.html": day, "c.bin": day, "new.txt": time.Now()}}
	site := httptest.NewServer(d)
	t.Cleanup(site.Close)
	dir := t.TempDir()
	rerun := func(name string, want ...string) {
		t.Helper()
		opts := noHost()
		opts.Crawl.Scope.NoParent = true
		run(t, dir, site.URL+"/d/", opts)
		if got := d.requests(); !slices.Equal(got, want) {
			t.Errorf("%s: requested %q, want %q", name, got, want)
		}
	}
	rerun("first run", "a.txt", "b.html", "c.bin", "new.txt")
	rerun("unchanged", "new.txt") // its index entry is too recent to prove that it is unchanged
	d.files["a.txt"], d.times["a.txt"] = "A", day.Add(time.Hour)
	rerun("newer time", "a.txt", "new.txt")
	d.files["c.bin"] = "longer"
	rerun("other size", "c.bin", "new.txt")
	if err := os.WriteFile(filepath.Join(dir, "d/b.html"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	rerun("changed locally", "b.html", "new.txt")
	if err := os.Remove(filepath.Join(dir, "d/b.html")); err != nil {
		t.Fatal(err)
	}
	rerun("removed locally", "b.html", "new.txt")
	rerun("unchanged", "new.txt")
	got := files(t, dir)
	delete(got, "d/index.html")
	compare(t, "the directory", got, map[string]string{"d/a.txt": "A", "d/b.html": d.files["b.html"], "d/c.bin": "longer", "d/new.txt": "new"})
}

// A directory index has no validator. It counts as unchanged if the response equals the saved file,
// or its original if the links were converted.
func TestPagesWithoutValidators(t *testing.T) {
	t.Parallel()
	for name, convert := range map[string]bool{"not converted": false, "converted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &directory{files: map[string]string{"a.txt": "a"}, times: map[string]time.Time{"a.txt": day}}
			site := httptest.NewServer(d)
			t.Cleanup(site.Close)
			dir, index := t.TempDir(), "d/index.html"
			opts := noHost()
			opts.Crawl.Scope.NoParent, opts.Convert, opts.Originals = true, convert, convert
			page := filepath.Join(dir, index)
			var first os.FileInfo
			for i, want := range []string{"saved d/a.txt, saved d/index.html", "unchanged d/a.txt, unchanged d/index.html",
				"unchanged d/a.txt, unchanged d/index.html"} {
				events, _ := run(t, dir, site.URL+"/d/", opts)
				if got := strings.Join(events, ", "); got != want {
					t.Errorf("run %d: %s, want %s", i+1, got, want)
				}
				info, err := os.Stat(page)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = info
				}
				if !convert && !os.SameFile(info, first) {
					t.Errorf("run %d replaced the file", i+1)
				}
			}
			d.files["b.txt"], d.times["b.txt"] = "b", day
			events, _ := run(t, dir, site.URL+"/d/", opts)
			if got, want := strings.Join(events, ", "), "saved d/b.txt, saved d/index.html, unchanged d/a.txt"; got != want {
				t.Errorf("after a new file: %s, want %s", got, want)
			}
			if text := files(t, dir)[index]; !strings.Contains(text, `"b.txt"`) {
				t.Errorf("directory index is %q", text)
			}
		})
	}
}
