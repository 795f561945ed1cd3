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

// TestSparedPagesAreNotVisited crawls a directory three times. A skipped page counts as visited,
// with its previous Memo or the one that Skip set. The next crawl therefore knows it.
func TestSparedPagesAreNotVisited(t *testing.T) {
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
	run := func(spare func(name, memo string) bool) (asked, ended map[string]string, visited []string) {
		var mu sync.Mutex
		asked, ended = map[string]string{}, map[string]string{}
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
				asked[name] = memo
				if name == "b" {
					p.Memo = []byte("spared")
				}
				return spare(name, memo)
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
		return asked, ended, visited
	}
	all := map[string]string{"a": "visited", "b": "visited", "c": "visited"}
	but := map[string]string{"a": "visited", "b": "spared", "c": "visited"}
	sparing := func(name, _ string) bool { return name != "c" }
	for i, tt := range []struct {
		spare        func(name, memo string) bool
		asked, ended map[string]string
		visited      []string
	}{
		{sparing, map[string]string{}, all, []string{"a", "b", "c"}},
		{sparing, all, but, []string{"c"}},
		{func(string, string) bool { return true }, but, but, nil},
	} {
		asked, ended, visited := run(tt.spare)
		if !maps.Equal(asked, tt.asked) || !maps.Equal(ended, tt.ended) || !slices.Equal(visited, tt.visited) {
			t.Errorf("crawl %d: asked about %v, ended %v, visited %v; want %v, %v, %v", i+1, asked, ended, visited, tt.asked, tt.ended, tt.visited)
		}
	}
}
