package mirror_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
)

// A form in a tree cannot be retrieved. It is left out and is not a failure.
func TestFormsAreLeftOut(t *testing.T) {
	t.Parallel()
	s := gopherd.Start(t, gopherd.Options{Plus: true, Tree: fstest.MapFS{"form": {Data: []byte("x")}, "a.txt": {Data: []byte("a")}},
		Items:      map[string][]string{"/": {"0order\t/form\t$HOST\t$PORT\t?"}},
		Attributes: map[string]string{"/form": "+ASK:\r\n Ask: Your name:\tnobody\r\n"}})
	opts := noHost()
	var left []string
	opts.Crawl.Left = func(l crawl.Link, why crawl.Reason) { left = append(left, l.URL.Path()+" "+string(why)) }
	for range 2 {
		left = nil
		events, r := run(t, t.TempDir(), s.URL+"/", opts)
		if r.Failed > 0 || r.Left != 1 || !slices.Equal(left, []string{"/0/form%09%09%3F form"}) {
			t.Errorf("%+v, unfollowed %q\n%q", r, left, events)
		}
	}
	if _, r := run(t, t.TempDir(), s.URL+"/0/form%09%09?", opts); r.Failed != 1 {
		t.Errorf("a form on the command line: %+v", r)
	}
}
