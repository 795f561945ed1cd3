package mirror_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/urlget/urlget/crawl"
)

// TestSpiderDoesNotChangeMirror runs a spider on a mirrored site. Pages that it visits do not count
// as saved, and it does not change the state of the mirror.
func TestSpiderDoesNotChangeMirror(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href=a>a</a>`, "/a": `<a href=b>b</a>`, "/b": `b`}
	all := map[string]string{"index.html": texts["/"], "a": texts["/a"], "b": texts["/b"]}
	for _, newer := range []bool{false, true} {
		site, responses := pages(t, texts)
		dir := t.TempDir()
		visits := 0
		spider := noHost()
		spider.Spider, spider.Newer = true, newer
		interrupted := spider
		interrupted.Crawl.Enough = func() bool { visits++; return visits > 4 }
		if _, _, err := tryRun(t, dir, site.URL+"/", interrupted); !errors.Is(err, crawl.ErrEnough) {
			t.Fatal(err)
		}
		run(t, dir, site.URL+"/", noHost())
		compare(t, "after an interrupted spider", files(t, dir), all)
		run(t, dir, site.URL+"/", spider)
		responses()
		_, r := run(t, dir, site.URL+"/", noHost())
		if got := responses(); got[304] != 3 || r.Unchanged != 3 {
			t.Errorf("after a spider: %v, %+v", got, r)
		}
		if n := len(stateFiles(t, dir)); n != 1 {
			t.Errorf("%d state files", n)
		}
	}
}

func stateFiles(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, ".urlget", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}
