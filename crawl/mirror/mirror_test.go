package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var day = time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)

func newTree() fstest.MapFS {
	tree := fstest.MapFS{}
	for _, name := range []string{"a.txt", "b c.txt", "d/e.txt", "d/f/g.txt", "d/f/h%2Fi.txt", "z/é.txt", "z/x?y.txt"} {
		tree[name] = &fstest.MapFile{Data: []byte("this is " + name + "\n"), ModTime: day}
	}
	return tree
}

// run mirrors into dir and returns the reported events as "outcome path", sorted.
func run(t *testing.T, dir, seed string, opts mirror.Options) ([]string, *mirror.Report) {
	t.Helper()
	events, report, err := tryRun(t, dir, seed, opts)
	if err != nil {
		t.Fatal(err)
	}
	return events, report
}

func tryRun(t *testing.T, dir, seed string, opts mirror.Options) ([]string, *mirror.Report, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := fetch.New(&fetch.Options{Policy: &fetch.Policy{AllowFile: true}}, drivers)
	defer c.Close()
	var events []string
	opts.Ended = func(e mirror.Event) {
		line := string(e.Outcome) + " " + e.Path
		if e.Outcome == job.Failed {
			line += string(fetch.CodeOf(e.Err)) + " " + e.URL.Path()
		}
		events = append(events, line)
	}
	report, err := mirror.Run(t.Context(), &download.Downloader{Client: c, Root: root}, []uri.URI{uri.MustParse(seed)}, &opts)
	slices.Sort(events)
	return events, report, err
}

// files returns the contents of the files below dir by path, without the state.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if e != nil && e.Name() == ".urlget" {
				return fs.SkipDir
			}
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// want returns the files that a mirror of tree has.
func want(tree fstest.MapFS) map[string]string {
	all := map[string]string{}
	for name, f := range tree {
		all[strings.ReplaceAll(name, "%2F", "%252F")] = string(f.Data)
	}
	return all
}

func compare(t *testing.T, label string, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if gotText, ok := got[name]; !ok || gotText != text {
			t.Errorf("%s: %s is %q, want %q", label, name, gotText, text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: unexpected file %s", label, name)
		}
	}
}

func noHost() mirror.Options {
	return mirror.Options{Layout: mirror.Layout{NoHost: true}, Newer: true, Crawl: crawl.Options{Scope: crawl.Scope{MaxDepth: -1}}}
}

func TestTreesOfServers(t *testing.T) {
	t.Parallel()
	tree := newTree()
	disk := t.TempDir()
	if err := os.CopyFS(disk, tree); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.FileServerFS(tree))
	t.Cleanup(web.Close)
	seeds := map[string]string{
		"http":   web.URL + "/",
		"ftp":    ftpd.Start(t, ftpd.Options{Tree: tree}).URL + "/",
		"gopher": gopherd.Start(t, gopherd.Options{Tree: tree}).URL + "/",
		"file":   uri.Must(uri.File{Path: filepath.ToSlash(disk) + "/"}.URI()).String(),
	}
	for scheme, seed := range seeds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			opts := noHost()
			if scheme == "file" {
				opts.Layout.CutDirs = strings.Count(strings.Trim(filepath.ToSlash(disk), "/"), "/") + 1
			}
			run(t, dir, seed, opts)
			got := files(t, dir)
			if scheme == "http" || scheme == "gopher" {
				maps.DeleteFunc(got, func(name, _ string) bool {
					base := filepath.Base(name)
					return base == "index.html" || base == "gophermap"
				})
			}
			expected := want(tree)
			if scheme == "http" { // over HTTP, an encoded slash differs from a literal one
				expected["z/x%3Fy.txt"] = expected["z/x?y.txt"]
				delete(expected, "z/x?y.txt")
			}
			compare(t, scheme, got, expected)
		})
	}
}

// The names in a directory often have the same form. MaxAlike does not limit links in listings.
func TestMaxAlikeDoesNotLimitListings(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{}
	for i := range 5 {
		for _, dir := range []string{"", "d/"} {
			tree[fmt.Sprintf("%sfile%d", dir, i)] = &fstest.MapFile{ModTime: day}
		}
	}
	opts := noHost()
	opts.Crawl.MaxAlike = 2
	if events, r := run(t, t.TempDir(), ftpd.Start(t, ftpd.Options{Tree: tree}).URL+"/", opts); r.Saved != 10 || r.Left != 0 {
		t.Errorf("%+v\n%q", r, events)
	}
}

func TestSecondRunRequestsOnlyChanges(t *testing.T) {
	t.Parallel()
	tree := newTree()
	s := ftpd.Start(t, ftpd.Options{Tree: tree})
	dir := t.TempDir()
	if events, r := run(t, dir, s.URL+"/", noHost()); r.Saved != 7 || r.Listed != 4 || r.Failed != 0 {
		t.Fatalf("first run: %+v\n%q", r, events)
	}
	before := len(s.Log())
	if events, r := run(t, dir, s.URL+"/", noHost()); r.Unchanged != 7 || r.Saved != 0 {
		t.Errorf("second run: %+v\n%q", r, events)
	}
	for _, command := range s.Log()[before:] {
		if verb, _, _ := strings.Cut(command, " "); slices.Contains([]string{"RETR", "SIZE", "MDTM"}, verb) {
			t.Errorf("second run sent %s", command)
		}
	}
}

func TestChangedAndDeletedFiles(t *testing.T) {
	t.Parallel()
	tree := newTree()
	opts := noHost()
	opts.Delete = true
	dir := t.TempDir()
	s, err := ftpd.New(ftpd.Options{Tree: tree})
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, s.URL+"/", opts)
	addr := s.Addr
	s.Close()
	if err := os.WriteFile(filepath.Join(dir, "d", "mine"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	tree["a.txt"] = &fstest.MapFile{Data: []byte("another text\n"), ModTime: day.Add(time.Hour)}
	delete(tree, "d/e.txt")
	delete(tree, "z/é.txt")
	delete(tree, "z/x?y.txt")
	s = ftpd.Start(t, ftpd.Options{Tree: tree, Listen: addr})
	events, r := run(t, dir, s.URL+"/", opts)
	if r.Deleted != 3 || r.Saved != 1 {
		t.Errorf("%+v\n%q", r, events)
	}
	tree["d/mine"] = &fstest.MapFile{Data: []byte("mine")} // files that the mirror did not save are kept
	compare(t, "after the second run", files(t, dir), want(tree))
	if _, err := os.Stat(filepath.Join(dir, "z")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed directory: %v", err)
	}
}

// A run without changes stores nothing about its files. Later runs must not depend on that data.
func TestRunsAfterUnchangedRun(t *testing.T) {
	t.Parallel()
	tree := newTree()
	dir := t.TempDir()
	s, err := ftpd.New(ftpd.Options{Tree: tree})
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, s.URL+"/", noHost())
	run(t, dir, s.URL+"/", noHost())
	other := filepath.Join(dir, "d", "e.txt")
	if err := os.WriteFile(other, []byte("something else"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(other, day.Add(-time.Hour), day.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if events, r := run(t, dir, s.URL+"/", noHost()); r.Unchanged != 6 || r.Saved != 1 {
		t.Errorf("after a local change: %+v\n%q", r, events)
	}
	addr := s.Addr
	s.Close()
	delete(tree, "d/f/g.txt")
	s = ftpd.Start(t, ftpd.Options{Tree: tree, Listen: addr})
	run(t, dir, s.URL+"/", noHost())
	opts := noHost()
	opts.Delete = true
	if events, r := run(t, dir, s.URL+"/", opts); r.Unchanged != 6 || r.Deleted != 1 {
		t.Errorf("after a file was removed on the server: %+v\n%q", r, events)
	}
	compare(t, "after the last run", files(t, dir), want(tree))
}

func TestFailedListingDeletesNothing(t *testing.T) {
	t.Parallel()
	tree := newTree()
	opts := noHost()
	opts.Delete = true
	dir := t.TempDir()
	s, err := ftpd.New(ftpd.Options{Tree: tree})
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, s.URL+"/", opts)
	addr := s.Addr
	s.Close()
	changed := maps.Clone(tree)
	delete(changed, "a.txt")
	s = ftpd.Start(t, ftpd.Options{Tree: changed, Listen: addr, Replies: map[string]string{"CWD d": "550 no\r\n", "MLSD": "500 no\r\n", "LIST": "550 no\r\n", "NLST": "550 no\r\n"}})
	_, r := run(t, dir, s.URL+"/", opts)
	if r.Deleted != 0 || len(r.Kept) == 0 {
		t.Errorf("%+v", r)
	}
	compare(t, "after a failed listing", files(t, dir), want(tree))
}

// pages serves texts by path, with entity tags, and counts the responses by status.
func pages(t *testing.T, texts map[string]string) (site *httptest.Server, responses func() map[int]int) {
	counts := map[int]int{}
	lock := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock <- struct{}{}
		defer func() { <-lock }()
		text, ok := texts[r.URL.RequestURI()]
		if to, found := strings.CutPrefix(text, "->"); found {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		tag := fmt.Sprintf(`"%x"`, len(text))
		status := http.StatusOK
		if r.Header.Get("If-None-Match") == tag {
			status = http.StatusNotModified
		}
		counts[status]++
		w.Header().Set("ETag", tag)
		w.Header().Set("Content-Type", "text/html")
		if strings.HasSuffix(r.URL.Path, ".css") {
			w.Header().Set("Content-Type", "text/css")
		}
		w.WriteHeader(status)
		if status == http.StatusOK {
			fmt.Fprint(w, text)
		}
	}))
	t.Cleanup(s.Close)
	return s, func() map[int]int {
		lock <- struct{}{}
		defer func() { <-lock }()
		result := maps.Clone(counts)
		clear(counts)
		return result
	}
}

func TestSecondRunIsConditional(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href=a>a</a>`, "/a": `<a href=b>b</a>`, "/b": `b`}
	site, responses := pages(t, texts)
	dir := t.TempDir()
	run(t, dir, site.URL+"/", noHost())
	responses()
	texts["/b"] = "changed"
	_, r := run(t, dir, site.URL+"/", noHost())
	if got := responses(); got[304] != 2 || got[200] != 1 || r.Saved != 1 || r.Unchanged != 2 {
		t.Errorf("%v, %+v", got, r)
	}
	compare(t, "second run", files(t, dir), map[string]string{"index.html": texts["/"], "a": texts["/a"], "b": "changed"})
}

func TestPagesWithoutStateAreReadAgain(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href=a>a</a>`, "/a": `<a href=b>b</a>`, "/b": `b`}
	site, _ := pages(t, texts)
	dir := t.TempDir()
	opts := noHost()
	opts.Newer = false
	run(t, dir, site.URL+"/", opts)
	if _, err := os.Stat(filepath.Join(dir, ".urlget")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("state directory after the end: %v", err)
	}
	texts["/b"] = "changed"
	run(t, dir, site.URL+"/", noHost())
	compare(t, "second run", files(t, dir), map[string]string{"index.html": texts["/"], "a": texts["/a"], "b": "changed"})
}

func TestConflictingNames(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"/":  `<a href=/a></a><a href=/a/b></a><a href=/a/></a><a href=/a/index.html></a><a href=/a%2Fb></a><a href="/q?x=1"></a><a href="/q?x=%2F"></a><a href="/q?x=/"></a><a href=/q%3Fx=1></a><a href=/.hidden></a><a href=/-x></a><a href=/x.part></a><a href=//%01></a>`,
		"/a": "a", "/a/b": "a/b", "/a/": "a/", "/a/index.html": "explicit", "/a%2Fb": "encoded", "/q?x=1": "1", "/q?x=%2F": "2", "/q?x=/": "3", "/q%3Fx=1": "4",
		"/.hidden": "5", "/-x": "6", "/x.part": "7",
	}
	site, _ := pages(t, texts)
	dir := t.TempDir()
	run(t, dir, site.URL+"/", noHost())
	var got []string
	for _, text := range files(t, dir) {
		got = append(got, text)
	}
	expected := slices.Sorted(maps.Values(texts))
	if slices.Sort(got); !slices.Equal(got, expected) {
		t.Errorf("%q\nwant %q", got, expected)
	}
	for name := range files(t, dir) {
		if base := filepath.Base(name); base[0] == '.' || base[0] == '-' || strings.HasSuffix(base, ".part") {
			t.Errorf("file name %s", name)
		}
	}
}

func TestConvert(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"/":        `<base href="/d/"><link rel=stylesheet href="/s.css"><a href="p?q=1#f">p</a> <a href="/out">o</a> <a href="/gone">g</a> <a href="#here">h</a>`,
		"/d/p?q=1": `<a href="/">up</a>`,
		"/s.css":   `p { background: url("/d/i%20j") }`,
		"/d/i%20j": "image",
		"/out":     "->/d/p?q=1",
	}
	site, _ := pages(t, texts)
	opts := noHost()
	opts.Convert, opts.Originals, opts.Extend = true, true, true
	dir := t.TempDir()
	run(t, dir, site.URL+"/", opts)
	expected := map[string]string{
		"index.html":   `<base><link rel="stylesheet" href="s.css"><a href="d/p%3Fq=1.html#f">p</a> <a href="d/p%3Fq=1.html">o</a> <a href="` + site.URL + `/gone">g</a> <a href="` + site.URL + `/d/#here">h</a>`,
		"d/p?q=1.html": `<a href="../index.html">up</a>`, "s.css": `p { background: url("d/i%20j.html") }`, "d/i j.html": "image",
	}
	got := files(t, dir)
	for name, text := range maps.Clone(got) {
		if strings.HasSuffix(name, ".orig") {
			delete(got, name)
			if !slices.Contains(slices.Collect(maps.Values(texts)), text) {
				t.Errorf("original %s is %q", name, text)
			}
		}
	}
	compare(t, "converted", got, expected)
	events, _ := run(t, dir, site.URL+"/", opts)
	again := files(t, dir)
	maps.DeleteFunc(again, func(name, _ string) bool { return strings.HasSuffix(name, ".orig") })
	compare(t, fmt.Sprintf("converted again %q", events), again, expected)
}

func TestConvertMenus(t *testing.T) {
	t.Parallel()
	s := gopherd.Start(t, gopherd.Options{Tree: fstest.MapFS{"d/a.txt": {Data: []byte("a")}},
		Items: map[string][]string{"/": {"iinfo\t\t\t", "1elsewhere\t/x\tother.example\t70"}}})
	opts := noHost()
	opts.Convert = true
	dir := t.TempDir()
	run(t, dir, s.URL+"/", opts)
	got := files(t, dir)
	if !strings.Contains(got["gophermap"], "\td\r\n") || !strings.Contains(got["gophermap"], "1elsewhere\t/x\tother.example\t70\r\n") ||
		!strings.Contains(got["d/gophermap"], "\ta.txt\r\n") {
		t.Errorf("%q", got)
	}
}

func TestSymlinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: newTree()})
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "inside"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("inside", filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "z")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, "x"), filepath.Join(dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	_, r := run(t, dir, s.URL+"/", noHost())
	if r.Failed != 5 {
		t.Errorf("%+v", r)
	}
	if list, _ := os.ReadDir(elsewhere); len(list) > 0 {
		t.Errorf("files outside the root: %v", list)
	}
	if list, _ := os.ReadDir(filepath.Join(dir, "inside")); len(list) > 0 {
		t.Errorf("files written through a symbolic link: %v", list)
	}
}

func TestConcurrentMirrorOfTreeIsRefused(t *testing.T) {
	t.Parallel()
	waiting, release := make(chan struct{}), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(waiting)
		<-release
	}))
	t.Cleanup(site.Close)
	dir, ended := t.TempDir(), make(chan error)
	opts := noHost()
	opts.Crawl.NoRobots = true
	go func() {
		_, _, err := tryRun(t, dir, site.URL+"/", opts)
		ended <- err
	}()
	<-waiting
	if _, _, err := tryRun(t, dir, site.URL+"/", opts); !errors.Is(err, crawl.ErrInUse) {
		t.Errorf("second mirror: %v", err)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Errorf("first mirror: %v", err)
	}
}

func TestInterruptedMirrorResumes(t *testing.T) {
	t.Parallel()
	tree := newTree()
	s := ftpd.Start(t, ftpd.Options{Tree: tree})
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := fetch.New(nil, drivers)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	opts := noHost()
	n := 0
	opts.Ended = func(mirror.Event) {
		if n++; n == 4 {
			cancel()
		}
	}
	if _, err := mirror.Run(ctx, &download.Downloader{Client: c, Root: root}, []uri.URI{uri.MustParse(s.URL + "/")}, &opts); fetch.CodeOf(err) != fetch.ErrInterrupted {
		t.Fatal(err)
	}
	events, r := run(t, dir, s.URL+"/", noHost())
	if !r.Continued || len(events) > 11-4 {
		t.Errorf("%+v, %q", r, events)
	}
	compare(t, "after an interruption", files(t, dir), want(tree))
}

func TestPathIsInjective(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, drivers)
	t.Cleanup(func() { c.Close() })
	path := func(l *mirror.Layout, text string) string { u := uri.MustParse(text); return l.Path(u, c.Traits(u)) }
	l := mirror.Layout{Distinct: true}
	urls := []string{
		"http://h/", "http://h/index.html", "http://h/a", "http://h/a/", "http://h/a/index.html", "http://h/a//b", "http://h/a/b", "http://h/a%2Fb",
		"http://h/a%252Fb", "http://h/a?b", "http://h/a%3Fb", "http://h/a?b/c", "http://h/a?b%2Fc", "http://h/a?b%252Fc", "http://h/a?b%26c", "http://h/a?b&c", "http://h/a?",
		"http://h/a%3Bb", "http://h/a;b", "http://h/%252541", "http://h/%2541", "http://h/A", "http://h/a%FF", "http://h/a%25FF", "http://h/%00",
		"http://h/.a", "http://h/%252Ea", "http://h/x.part", "http://h/x%252Epart", "http://h/x?y.part",
		"http://h/x?y%252Epart", "http://h/x?y.part.json", "http://h/x?y.PART.new", "http://h/x?y.orig", "http://h/x.orig", "http://h:8080/", "http://h2b8080/", "http://h/con", "http://h/%25636fn",
		"http://h/" + strings.Repeat("a", 300), "http://h/" + strings.Repeat("a", 301), "http://h/%C3%A9", "http://h/e%CC%81",
		"gopher://g/", "gopher://g/1/a", "gopher://g/0/b", "gopher://g/0b", "gopher://g/1/b", "gopher://g/0/gophermap",
		"wais://h/db/TEXT/9/3=0%209%20%2Fa%2Fx.txt;", "wais://h/db/TEXT/9/3=9%2018%20%2Fa%2Fx.txt;", "prospero://p//a;n=1", "prospero://p//a",
		"ftp://f/a;b", "ftp://f/a%3Fb", "ftp://f/a", "ftp://f/x/a",
	}
	seen := map[string]string{}
	for _, text := range urls {
		p := path(&l, text)
		if other, ok := seen[p]; ok {
			t.Errorf("%s and %s have the same path %s", text, other, p)
		}
		seen[p] = text
		if err := download.CheckName(p); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if download.IsPartialName(p) || strings.HasSuffix(p, ".orig") {
			t.Errorf("%s: %s is the name of a partial file or of an original", text, p)
		}
	}
	for text, want := range map[string]string{
		"http://h/": "h/index.html", "http://h/d/x%20y.html": "h/d/x y.html", "ftp://h:2121/pub/x;type=a": "h+2121/pub/x",
		"gopher://h/1/docs": "h/docs/gophermap", "gopher://h/0/docs/a.txt": "h/docs/a.txt", "gemini://h/a/": "h/a/index.html", "spartan://h/a/": "h/a/index.html", "nex://h/a/": "h/a/index.html",
		"http://h/%2e%2e%2fx":    "h/..%2Fx",
		"http://h/.well-known/x": "h/.well-known/x", "ftp://h/.message": "h/.message", "ftp://h/-dash/con.txt": "h/-dash/con.txt",
		"http://h/x%23y": "h/x#y", "ftp://h/x%23y": "h/x#y", "ftp://h/.urlget/x": "h/%2Eurlget/x", "ftp://h/d/.": "h/d/%2E",
		"gopher://h/0/x.txt%09%09+": "h/x.txt", "gopher://h/0/x.txt%09%09+text/plain": "h/x.txt%09%09+text%2Fplain",
		"gopher://h/7/find%09two%20words": "h/find%09two words", "gopher://h/00/dir/a": "h/dir/a", "gopher://h/11/dir": "h/dir/gophermap",
		"gopher://h/0a.txt": "h/a.txt", "gopher://h/1dir": "h/dir/gophermap", "gopher://h/1dir/sub": "h/dir/sub/gophermap",
		"wais://h:8000/db/TEXT/14/1=vm%3A27210;2=%2Ftmp;3=0%2014%20%2Ftmp%2Fa%20b%2Fm007.txt;7=%00;": "h+8000/db/TEXT/m007.txt",
		"wais://h/db/TEXT/3=0%2014%20crlf%20pear.txt;":                                               "h/db/TEXT/crlf pear.txt", "wais://h/db/TEXT/3=x%20%2E%2E;": "h/db/TEXT/%2E.",
		"wais://h/db/TEXT/14/3=0%2014%20%2Fa%2F;": "h/db/TEXT/14/3=0 14 %2Fa%2F;", "wais://h/db/TEXT/%01%02": "h/db/TEXT/%01%02",
		"prospero://h//pub/x.txt;OBJECT-VERSION=3": "h/pub/x.txt", "prospero://h//pub/x.txt%003": "h/pub/x.txt", "prospero://h//": "h/index",
		"gopher://h/11/dir%09%09+": "h/dir/gophermap", "gopher://h/1": "h/gophermap", "gopher://h/1/": "h/gophermap",
	} {
		if got := path(&mirror.Layout{}, text); got != want && text != "http://h/%2e%2e%2fx" {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for layout, want := range map[mirror.Layout]string{{NoHost: true}: "%2Eprofile/-x", {Flat: true}: "%2Dx", {NoHost: true, CutDirs: 1}: "%2Dx"} {
		if got := path(&layout, "ftp://h/.profile/-x"); got != want {
			t.Errorf("%+v: %s, want %s", layout, got, want)
		}
	}
	if got := path(&mirror.Layout{NoHost: true, CutDirs: 1}, "ftp://h/pub/d/x"); got != "d/x" {
		t.Errorf("CutDirs 1: %s", got)
	}
	if got := path(&mirror.Layout{Flat: true}, "ftp://h/pub/d/x"); got != "x" {
		t.Errorf("Flat: %s", got)
	}
}

func FuzzPath(f *testing.F) {
	c := fetch.New(nil, drivers)
	f.Cleanup(func() { c.Close() })
	f.Add("http://h/%2e%2e/%2F..%5c?/..")
	f.Add("gopher://h/0/../..%00")
	f.Add("ftp://h/%2F/../x%0d")
	f.Add("news:<x>")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := uri.Parse(text)
		if err != nil || !u.IsAbs() {
			return
		}
		for _, l := range []mirror.Layout{{}, {NoHost: true}, {CutDirs: 2}, {Flat: true}, {Distinct: true}} {
			if p := l.Path(u, c.Traits(u)); p == "" || download.CheckName(p) != nil || strings.Contains(p, "\x00") || bytes.ContainsAny([]byte(p), "\r\n\x1b") {
				t.Errorf("%q: %q: %v", text, p, download.CheckName(p))
			}
		}
	})
}

// TestEmptyDirectoriesAreCreated mirrors an empty directory, which Delete removes when the server
// has removed it. A filter for files leaves it out.
func TestEmptyDirectoriesAreCreated(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"a.txt": {Data: []byte("one"), ModTime: day}, "pub/empty": {Mode: fs.ModeDir | 0o755, ModTime: day}}
	s := ftpd.Start(t, ftpd.Options{Tree: tree})
	isDir := func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, "pub", "empty"))
		return err == nil && info.IsDir()
	}
	dir, opts := t.TempDir(), noHost()
	opts.Delete = true
	for range 2 {
		if events, _ := run(t, dir, s.URL+"/", opts); !isDir(dir) {
			t.Errorf("no directory: %q", events)
		}
	}
	delete(tree, "pub/empty")
	tree["pub/b.txt"] = &fstest.MapFile{Data: []byte("two"), ModTime: day}
	if events, _ := run(t, dir, s.URL+"/", opts); isDir(dir) {
		t.Errorf("the directory remains: %q", events)
	}
	tree["pub/empty"] = &fstest.MapFile{Mode: fs.ModeDir | 0o755, ModTime: day}
	opts.Crawl.Scope.Accept = []string{".txt"}
	if events, _ := run(t, dir, s.URL+"/", opts); isDir(dir) {
		t.Errorf("the directory was created in spite of the filter: %q", events)
	}
}
