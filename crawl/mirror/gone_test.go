package mirror_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/protocols/ftp"
)

// mirrorAgain mirrors seeds into dir with Options.Delete.
func mirrorAgain(t *testing.T, dir string, opts mirror.Options, seeds ...string) (*mirror.Report, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := fetch.New(nil, drivers)
	defer c.Close()
	var urls []uri.URI
	for _, s := range seeds {
		urls = append(urls, uri.MustParse(s))
	}
	opts.Delete, opts.Crawl.NoRobots = true, true
	return mirror.Run(t.Context(), &download.Downloader{Client: c, Root: root}, urls, &opts)
}

// keptURLs returns the paths of the URLs in Report.Kept and the numbers of files.
func keptURLs(r *mirror.Report) (list []string) {
	for _, k := range r.Kept {
		list = append(list, fmt.Sprintf("%s %d", uri.MustParse(k.URL).Path(), k.Files))
	}
	return list
}

// TestSiteIsGone mirrors a site that later returns 404 for pages, with or without the start page.
func TestSiteIsGone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pages   int
		later   string // the later start page, or the status of its response
		share   int
		gone    int // the first pages, which are not found later
		deleted int
		braked  bool
		kept    []string
	}{
		"everything is not found":             {pages: 6, later: "404", gone: 6, kept: []string{"/ 7"}},
		"everything is gone":                  {pages: 6, later: "410", gone: 6, kept: []string{"/ 7"}},
		"the start page fails":                {pages: 6, later: "503", gone: 6, kept: []string{"/ 6"}},
		"the start page alone is not found":   {pages: 6, later: "404", kept: []string{"/ 7"}},
		"few linked pages are not found":      {pages: 6, gone: 6, deleted: 6},
		"few unlinked pages are not found":    {pages: 6, gone: 6, later: "<p>empty", deleted: 6},
		"many linked pages are not found":     {pages: 20, gone: 11, braked: true},
		"many unlinked pages are not found":   {pages: 20, gone: 20, later: "<p>parked", braked: true},
		"less than half is not found":         {pages: 40, gone: 15, deleted: 15},
		"more than another share":             {pages: 40, gone: 15, share: 20, braked: true},
		"all of many pages, which is allowed": {pages: 20, gone: 20, share: 100, deleted: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var later atomic.Bool
			links := ""
			for i := range tt.pages {
				links += fmt.Sprintf("<a href=%d>p</a>", i)
			}
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				var n int
				_, isPage := fmt.Sscanf(r.URL.Path, "/%d", &n)
				switch {
				case r.URL.Path == "/" && later.Load() && len(tt.later) == 3:
					fmt.Sscanf(tt.later, "%d", &n)
					w.WriteHeader(n)
				case r.URL.Path == "/" && later.Load() && tt.later != "":
					fmt.Fprint(w, tt.later)
				case r.URL.Path == "/":
					fmt.Fprint(w, links)
				case isPage == nil && later.Load() && n < tt.gone:
					http.NotFound(w, r)
				default:
					fmt.Fprintf(w, "<p>page %s", r.URL.Path)
				}
			}))
			t.Cleanup(site.Close)
			dir, opts := t.TempDir(), noHost()
			if _, err := mirrorAgain(t, dir, opts, site.URL+"/"); err != nil {
				t.Fatal(err)
			}
			later.Store(true)
			opts.DeleteShare = tt.share
			r, err := mirrorAgain(t, dir, opts, site.URL+"/")
			if errors.Is(err, mirror.ErrTooManyGone) != tt.braked || tt.braked != (fetch.CodeOf(err) == fetch.ErrTruncated) {
				t.Errorf("error %v", err)
			}
			if n := len(files(t, dir)); int(r.Deleted) != tt.deleted || n != tt.pages+1-tt.deleted || !slices.Equal(keptURLs(r), tt.kept) {
				t.Errorf("%d files, %+v", n, r)
			}
		})
	}
}

// TestOneOfTwoStartURLsFails removes files of the other one only.
func TestOneOfTwoStartURLsFails(t *testing.T) {
	t.Parallel()
	texts := []map[string]string{{"/": "<a href=x.html>x</a>", "/x.html": "<p>x"}, {"/": "<a href=x.html>x</a>", "/x.html": "<p>x"}}
	var seeds []string
	for _, t2 := range texts {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, ok := t2[r.URL.Path]
			if !ok {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, text)
		}))
		t.Cleanup(site.Close)
		seeds = append(seeds, site.URL+"/")
	}
	dir, opts := t.TempDir(), noHost()
	opts.Layout.NoHost = false
	if _, err := mirrorAgain(t, dir, opts, seeds...); err != nil {
		t.Fatal(err)
	}
	clear(texts[0])
	texts[1]["/"] = "<p>no links"
	delete(texts[1], "/x.html")
	r, err := mirrorAgain(t, dir, opts, seeds...)
	if n := len(files(t, dir)); err != nil || r.Deleted != 1 || n != 3 {
		t.Errorf("%d files, %+v, %v", n, r, err)
	}
	// Pages of start URLs that are not named are left alone.
	clear(texts[1])
	texts[0]["/"] = "<p>again"
	r, err = mirrorAgain(t, dir, opts, seeds[0])
	if n := len(files(t, dir)); err != nil || r.Deleted != 1 || n != 2 {
		t.Errorf("%d files, %+v, %v", n, r, err)
	}
}

// A listingServer is an FTP server whose listings can be replaced.
type listingServer struct {
	*ftpd.Server
	replaced map[string][2]string // by directory
}

func startListings(t *testing.T, tree fstest.MapFS, replies map[string]string) *listingServer {
	s := &listingServer{replaced: map[string][2]string{}}
	s.Server = ftpd.Start(t, ftpd.Options{Tree: tree, Unknown: []string{"MLSD"}, Replies: replies, Listing: func(_, dir string) (string, string) {
		v := s.replaced[dir]
		return v[0], v[1]
	}})
	return s
}

func textTree(names ...string) fstest.MapFS {
	tree := fstest.MapFS{}
	for _, name := range names {
		tree[name] = &fstest.MapFile{Data: []byte("this is " + name), ModTime: day}
	}
	return tree
}

// TestUnreadDirectoryIsSpared removes a file from one directory while another one cannot be read.
func TestUnreadDirectoryIsSpared(t *testing.T) {
	t.Parallel()
	all := []string{"pub/a/1.txt", "pub/a/2.txt", "pub/b/3.txt", "pub/b/sub/4.txt", "pub/c/5.txt"}
	for name, tt := range map[string]struct {
		lines, end string
		failed     int64
	}{
		"final reply":       {end: "226 Transfer done (but failed to open directory).\r\n", failed: 1},
		"refused":           {end: "450 no\r\n", failed: 1},
		"aborted":           {lines: "-rw-r--r-- 1 o g 16 Mar  4  2026 3.txt\r\n", end: "426 broken\r\n", failed: 1},
		"error line":        {lines: ".: Permission denied\r\n", failed: 1},
		"error of ls":       {lines: "total 0\r\nls: reading directory .: Input/output error\r\n", failed: 1},
		"an unknown format": {lines: "3.txt    6 bytes   yesterday\r\n"},
		"one unknown line":  {lines: "-rw-r--r-- 1 o g 18 Mar  4  2026 3.txt\r\nsub is a directory\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := textTree(all...)
			s := startListings(t, tree, nil)
			dir, opts := t.TempDir(), noHost()
			if _, err := mirrorAgain(t, dir, opts, s.URL+"/pub/"); err != nil {
				t.Fatal(err)
			}
			delete(tree, "pub/a/2.txt")
			delete(tree, "pub/c/5.txt")
			s.replaced["/pub/b"] = [2]string{tt.lines, tt.end}
			want := want(tree)
			for range 2 { // the directory is not believed later
				r, err := mirrorAgain(t, dir, opts, s.URL+"/pub/")
				if err != nil || r.Failed != tt.failed || len(r.Kept) != 1 || !strings.HasSuffix(r.Kept[0].URL, "/pub/b/") {
					t.Errorf("%+v, %v", r, err)
				}
				compare(t, "mirror", files(t, dir), want)
			}
			delete(tree, "pub/b/3.txt")
			delete(s.replaced, "/pub/b")
			if r, err := mirrorAgain(t, dir, opts, s.URL+"/pub/"); err != nil || len(r.Kept) > 0 {
				t.Errorf("%+v, %v", r, err)
			}
			delete(want, "pub/b/3.txt")
			compare(t, "mirror of a server without faults", files(t, dir), want)
		})
	}
}

// TestStartDirectoryFails finds no directory at the start URL.
func TestStartDirectoryFails(t *testing.T) {
	t.Parallel()
	tree := textTree("pub/a.txt", "pub/b/c.txt", "other/d.txt")
	s := startListings(t, tree, nil)
	dir, opts := t.TempDir(), noHost()
	seeds := []string{s.URL + "/pub/", s.URL + "/other/"}
	if _, err := mirrorAgain(t, dir, opts, seeds...); err != nil {
		t.Fatal(err)
	}
	left := want(tree)
	for name := range tree {
		if strings.HasPrefix(name, "pub/") {
			delete(tree, name)
		}
	}
	delete(tree, "other/d.txt")
	tree["other/e.txt"] = &fstest.MapFile{Data: []byte("e"), ModTime: day}
	r, err := mirrorAgain(t, dir, opts, seeds...)
	if err != nil || r.Deleted != 1 || !slices.Equal(keptURLs(r), []string{"/pub/ 2"}) {
		t.Errorf("%+v, %v", r, err)
	}
	delete(left, "other/d.txt")
	left["other/e.txt"] = "e"
	compare(t, "mirror", files(t, dir), left)
}

// TestEmptyDirectoryIsBelievedLater lists a directory that becomes empty.
func TestEmptyDirectoryIsBelievedLater(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		seed, dir string
		runs      []bool // whether the listing is empty
		deleted   int64  // in the last run
	}{
		"in the first run":             {"/", "pub", []bool{true}, 0},
		"in the second run":            {"/", "pub", []bool{true, true}, 2},
		"after it was not empty":       {"/", "pub", []bool{true, false, true}, 0},
		"in the second run after that": {"/", "pub", []bool{true, false, true, true}, 2},
		"the start URL":                {"/pub/", "pub", []bool{true}, 0},
		"the start URL, later":         {"/pub/", "pub", []bool{true, true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := textTree("a.txt", "pub/b.txt", "pub/c/d.txt")
			s := startListings(t, tree, nil)
			dir, opts := t.TempDir(), noHost()
			var r *mirror.Report
			for i, empty := range append([]bool{false}, tt.runs...) {
				delete(s.replaced, "/"+tt.dir)
				if empty {
					s.replaced["/"+tt.dir] = [2]string{"", "226 Done.\r\n"}
				}
				before := len(files(t, dir))
				var err error
				if r, err = mirrorAgain(t, dir, opts, s.URL+tt.seed); err != nil {
					t.Fatal(err)
				}
				if i < len(tt.runs) && i > 0 && len(files(t, dir)) != before {
					t.Errorf("run %d deleted files: %+v", i, r)
				}
				if spared := empty && r.Deleted == 0; spared != (len(r.Kept) == 1 && path.Base(r.Kept[0].URL) == tt.dir) {
					t.Errorf("run %d: %+v", i, r)
				}
			}
			if r.Deleted != tt.deleted {
				t.Errorf("%+v, want %d deleted", r, tt.deleted)
			}
		})
	}
}

// TestMostFilesOfListingAreGone removes no files if the listings lack more than half of them.
func TestMostFilesOfListingAreGone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		gone, added int
		braked      bool
	}{{10, 0, false}, {11, 0, true}, {11, 30, true}} {
		tree := fstest.MapFS{}
		for i := range 20 {
			maps.Copy(tree, textTree(fmt.Sprintf("pub/%d.txt", i)))
		}
		s := startListings(t, tree, nil)
		dir, opts := t.TempDir(), noHost()
		if _, err := mirrorAgain(t, dir, opts, s.URL+"/"); err != nil {
			t.Fatal(err)
		}
		for i := range tt.gone {
			delete(tree, fmt.Sprintf("pub/%d.txt", i))
		}
		for i := range tt.added {
			maps.Copy(tree, textTree(fmt.Sprintf("pub/new%d.txt", i)))
		}
		for range 2 {
			r, err := mirrorAgain(t, dir, opts, s.URL+"/")
			if n := len(files(t, dir)); errors.Is(err, mirror.ErrTooManyGone) != tt.braked || (n == 20+tt.added) != tt.braked {
				t.Errorf("%d gone: %d files, %+v, %v", tt.gone, n, r, err)
			}
			if !tt.braked || tt.added > 0 {
				break // the next run knows the new files
			}
		}
	}
}

// TestPatternIsNoListing mirrors the matches of a pattern. The other files of the directory stay.
func TestPatternIsNoListing(t *testing.T) {
	t.Parallel()
	tree := textTree("pub/a.txt", "pub/b.bin")
	s := startListings(t, tree, nil)
	dir, opts := t.TempDir(), noHost()
	for _, seed := range []string{"/pub/", "/pub/*.txt", "/pub/*.txt"} {
		if _, err := mirrorAgain(t, dir, opts, s.URL+seed); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, "mirror", files(t, dir), want(tree))
}

// TestListingWithoutCloseNotify mirrors a directory whose listing is cut at the end of a TLS record.
func TestListingWithoutCloseNotify(t *testing.T) {
	t.Parallel()
	cert, trust := servers.Certificate()
	tree := textTree("pub/a.txt", "pub/b.txt")
	opts := ftpd.Options{Tree: tree, TLS: cert, Unknown: []string{"MLSD"}}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, cut := range []bool{false, true} {
		if cut {
			opts.NoNotify, opts.Listing = true, func(string, string) (string, string) {
				return "-rw-r--r-- 1 o g 17 Mar  4  2026 a.txt\r\n", ""
			}
		}
		s, err := ftpd.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		opts.Listen = s.Addr
		c := fetch.New(&fetch.Options{TLS: trust}, ftp.With(ftp.Options{TLS: ftp.TLSRequire}))
		mirrorOpts := noHost()
		mirrorOpts.Delete = true
		r, err := mirror.Run(t.Context(), &download.Downloader{Client: c, Root: root}, []uri.URI{uri.MustParse(s.URL + "/pub/")}, &mirrorOpts)
		c.Close()
		s.Close()
		if err != nil || r.Failed > 0 || (len(r.Kept) == 1) != cut {
			t.Errorf("%+v, %v", r, err)
		}
		compare(t, "mirror", files(t, dir), want(tree))
	}
}
