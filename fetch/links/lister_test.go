package links_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchfs"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// index is the index of a directory with a subdirectory, its parent, another directory and a file.
func index(title string) string {
	return "<title>" + title + `</title><pre><a href="../">Parent Directory</a>
<a href="?C=N;O=D">Name</a> <a href="/elsewhere/">elsewhere</a>
<a href="a%20very%20long%20name.txt">a very lo..&gt;</a> 2024-01-02 03:04 5
<a href="sub/">sub/</a> 2024-01-02 03:04 -
</pre>`
}

// website serves pages as x-web, whose pages are HTML. It redirects to the pages of directories.
func website(pages map[string]string) *fetch.Client {
	return fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-web", Ops: []fetch.Op{fetch.OpGet}, Traits: fetch.Traits{HTML: true},
			Driver: fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
				path := req.URL.Path()
				page, ok := pages[path]
				if _, isDir := pages[path+"/"]; isDir {
					return &fetch.Response{Body: fetch.NoBody, Location: []uri.URI{uri.MustParse(req.URL.String() + "/")}}, nil
				}
				if !ok {
					return nil, fetch.ErrNotFound
				}
				kind := "text/html"
				if !strings.HasPrefix(page, "<") {
					kind = "text/plain"
				}
				return &fetch.Response{Meta: fetch.Meta{ContentType: kind, Size: int64(len(page))},
					Body: io.NopCloser(strings.NewReader(page))}, nil
			})})
	})
}

func TestIndexPagesAreWalked(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"/d/sub/": index("Index of /d/sub"), "/d/sub/sub/": `<a href="x/">x</a>`}
	for title, want := range map[string][]string{
		"Index of /d": {"Parent Directory", "elsewhere", "a very lo..>", "sub/", "sub/,Parent Directory", "sub/,elsewhere",
			"sub/,a very lo..>", "sub/,sub/", "sub/,sub/,x"},
		"Directory listing for /d/": {"Parent Directory", "elsewhere", "a very lo..>", "sub/", "sub/,Parent Directory",
			"sub/,elsewhere", "sub/,a very lo..>", "sub/,sub/", "sub/,sub/,x"},
		"A page": {"Parent Directory", "Name", "elsewhere", "a very lo..>", "sub/"},
	} {
		pages["/d/"] = index(title)
		c := website(pages)
		defer c.Close()
		var got []string
		for m, err := range c.Walk(t.Context(), "x-web://h/d/", &fetch.WalkOptions{List: (&links.Lister{Client: c}).List}) {
			if err != nil {
				t.Errorf("%s: %v", title, err)
			}
			got = append(got, strings.Join(m.Path, ","))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
}

func TestPagesAreDirectoriesOfAFileSystem(t *testing.T) {
	t.Parallel()
	c := website(map[string]string{"/d/": index("Index of /d"), "/d/sub/": `<a href="deep.txt#x">x</a>`,
		"/d/a%20very%20long%20name.txt": "hello", "/d/sub/deep.txt": "deep"})
	defer c.Close()
	fsys := fetchfs.New(t.Context(), c, "x-web://h/d").ListWith((&links.Lister{Client: c}).List)
	var got []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		got = append(got, fmt.Sprint(name, " ", d != nil && d.IsDir(), " ", err))
		return nil
	})
	want := []string{". true <nil>", "a very long name.txt false <nil>", "sub true <nil>", "sub/deep.txt false <nil>"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	fresh := fetchfs.New(t.Context(), c, "x-web://h/d").ListWith((&links.Lister{Client: c}).List)
	if info, err := fs.Stat(fresh, "sub"); err != nil || !info.IsDir() {
		t.Errorf("before its parent is read: %v, %v", info, err)
	}
	if err := fstest.TestFS(fresh, "a very long name.txt", "sub/deep.txt"); err != nil {
		t.Error(err)
	}
	if data, err := fs.ReadFile(fsys, "a very long name.txt"); err != nil || string(data) != "hello" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := fs.ReadDir(fetchfs.New(t.Context(), c, "x-web://h/d"), "."); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without pages: %v", err)
	}
}

// TestRefusedResponses checks that the function for responses sees the page and the listing, and that its
// errors end the request.
func TestRefusedResponses(t *testing.T) {
	t.Parallel()
	c := website(map[string]string{"/": index("A page")})
	defer c.Close()
	own := errors.New("own")
	l := &links.Lister{Client: c, Response: func(*fetch.Response) error { return own }}
	if resp, err := l.List(t.Context(), &fetch.Request{URL: uri.MustParse("x-web://h/")}); resp != nil || err != own {
		t.Errorf("%v, %v", resp, err)
	}
}
