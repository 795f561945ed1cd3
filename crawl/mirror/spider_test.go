package mirror_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch/uri"
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

// TestSpiderChecksFragments checks links to parts of pages: of the page itself, of others, and through
// redirects, whose own fragment counts first (RFC 9110, section 10.2.2).
func TestSpiderChecksFragments(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"/": `<base href="/"><p id=here><a href="#here">1</a> <a href="#gone">2</a> <a href="#gone">2</a> <a href="b#there">3</a>
<a href="b#away">4</a> <a href="b#%61way">4</a> <a href="old#there">5</a> <a href="old#lost">6</a> <a href="moved#any">7</a> <a href=wrong>8</a>
<a href="#top">9</a> <a href="b#:~:text=b">10</a> <a href="b#/route">11</a> <a href="style.css#x">12</a> <a href="missing#x">13</a>
<iframe src="b#frame"></iframe> <a href="/?q=1#here">14</a> <a href="http://other.invalid/#x">15</a>`,
		"/b": `<p id=there><iframe srcdoc="<p id=frame>"></iframe><a href="/#here">back</a>`, "/old": "->/b", "/moved": "->/b#there", "/wrong": "->/b#nowhere", "/style.css": "a{}",
		"/?q=1": "another page",
	}
	site, _ := pages(t, texts)
	dir := t.TempDir()
	var missing []string
	spider := noHost()
	spider.Spider = true
	spider.NoAnchor = func(link, page uri.URI) {
		missing = append(missing, strings.ReplaceAll(page.String()+" "+link.String(), site.URL, ""))
	}
	for _, interrupted := range []bool{true, false} {
		visits := 0
		spider.Crawl.Enough = func() bool { visits++; return interrupted && visits > 3 }
		if _, _, err := tryRun(t, dir, site.URL+"/", spider); errors.Is(err, crawl.ErrEnough) != interrupted {
			t.Fatal(err)
		}
	}
	slices.Sort(missing)
	want := []string{"/ /#gone", "/ /?q=1#here", "/ /b#%61way", "/ /b#away", "/ /b#frame", "/ /old#lost", "/wrong /b#nowhere"}
	if !slices.Equal(missing, want) {
		t.Errorf("%q, want %q", missing, want)
	}
	missing = nil
	spider.Spider = false
	run(t, dir, site.URL+"/", spider)
	if missing != nil {
		t.Errorf("without Spider: %q", missing)
	}
}
