package queue_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/queue"
)

// Menus are documents: workers store each of them, as a tree does. The root menu is one page, whether
// its selector is empty or a slash.
func TestMenusAreStored(t *testing.T) {
	t.Parallel()
	s := gopherd.Start(t, gopherd.Options{
		Tree:  fstest.MapFS{"a.txt": {Data: []byte("a")}, "sub/b.txt": {Data: []byte("b")}, "sub/deep/c.txt": {Data: []byte("c")}},
		Items: map[string][]string{"/": {"1Home\t/\t$HOST\t$PORT"}, "/sub": {"1Home\t\t$HOST\t$PORT"}},
	})
	client := fetch.New(nil, gopher.Load)
	defer client.Close()
	root := "gopher://" + s.Addr
	workers := crawlByWorkers(t, client, queue.Crawl{}, uri.MustParse(root+"/"))
	requests := map[string]int{}
	for _, line := range s.Log() {
		requests[strings.TrimSuffix(line, "/")]++
	}
	want := []string{root + "/", root + "/1/sub", root + "/1/sub/deep", root + "/9/a.txt", root + "/9/sub/b.txt", root + "/9/sub/deep/c.txt"}
	if got := slices.Sorted(maps.Keys(workers.bodies)); !slices.Equal(got, want) {
		t.Errorf("workers stored\n%q, want\n%q", got, want)
	}
	delete(requests, "/robots.txt")
	if requests[""] != 1 || len(requests) != len(want) {
		t.Errorf("requests: %v", requests)
	}
	if tree := crawlAsTree(t, client, queue.Crawl{}, uri.MustParse(root+"/")); !maps.Equal(tree.bodies, workers.bodies) {
		t.Errorf("a tree has %q", slices.Sorted(maps.Keys(tree.bodies)))
	}
}
