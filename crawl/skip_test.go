package crawl_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	filedriver "github.com/urlget/urlget/protocols/file"
)

// TestSkippedPagesAreNotVisited crawls a directory three times. A skipped page counts as visited,
// with its previous Memo or the one that Skip set. The next crawl therefore knows it.
func TestSkippedPagesAreNotVisited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := fetch.New(nil, filedriver.Load)
	defer c.Close()
	st, err := crawl.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	seed := uri.Must(uri.File{Path: filepath.ToSlash(dir) + "/"}.URI())
	run := func(skip func(name, memo string) bool) (checked, ended map[string]string, visited []string) {
		var mu sync.Mutex
		checked, ended = map[string]string{}, map[string]string{}
		_, err := crawl.Run(t.Context(), c, []uri.URI{seed}, &crawl.Options{State: st,
			Visit: func(ctx context.Context, p *crawl.Page) error {
				if p.Kind == fetch.EntryListing || p.Depth == 0 {
					return p.Read(ctx)
				}
				mu.Lock()
				defer mu.Unlock()
				visited = append(visited, p.URL.LastSegment())
				p.Memo = []byte("visited")
				return nil
			},
			Skip: func(p *crawl.Page) bool {
				name, memo := p.URL.LastSegment(), string(p.Memo)
				checked[name] = memo
				if name == "b" {
					p.Memo = []byte("skipped")
				}
				return skip(name, memo)
			},
			Ended: func(p *crawl.Page, err error) {
				if err != nil || p.Key() != p.URL.Key() {
					t.Errorf("%s, %s: %v", p.Key(), p.URL, err)
				}
				ended[p.URL.LastSegment()] = string(p.Memo)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		delete(ended, seed.LastSegment())
		slices.Sort(visited)
		return checked, ended, visited
	}
	all := map[string]string{"a": "visited", "b": "visited", "c": "visited"}
	skippedB := map[string]string{"a": "visited", "b": "skipped", "c": "visited"}
	skipAllButC := func(name, _ string) bool { return name != "c" }
	for i, tt := range []struct {
		skip           func(name, memo string) bool
		checked, ended map[string]string
		visited        []string
	}{
		{skipAllButC, map[string]string{}, all, []string{"a", "b", "c"}},
		{skipAllButC, all, skippedB, []string{"c"}},
		{func(string, string) bool { return true }, skippedB, skippedB, nil},
	} {
		checked, ended, visited := run(tt.skip)
		if !maps.Equal(checked, tt.checked) || !maps.Equal(ended, tt.ended) || !slices.Equal(visited, tt.visited) {
			t.Errorf("crawl %d: checked %v, ended %v, visited %v; want %v, %v, %v", i+1, checked, ended, visited, tt.checked, tt.ended, tt.visited)
		}
	}
}
