package mirror_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch/uri"
)

// A document is what a test server sends for a path: the lines of its header, an empty line, and its text.
func serveDocuments(t *testing.T, documents map[string]string) *httptest.Server {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, ok := documents[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		head, text, _ := strings.Cut(document, "\n\n")
		w.Header()["Content-Type"] = nil // the server does not guess
		for line := range strings.Lines(head) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			w.Header().Add(name, value)
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(text)))
		if r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(site.Close)
	return site
}

const html = "Content-Type: text/html\n\n"

func TestLinksOfOtherDocuments(t *testing.T) {
	t.Parallel()
	for name, documents := range map[string]map[string]string{
		"a page without a type":         {"/": "\n\n<a href=x>"},
		"a page with two types":         {"/": "Content-Type: text/html\nContent-Type: text/html\n\n<a href=x>"},
		"a style sheet without a type":  {"/": html + "<link rel=stylesheet href=a>", "/a": "\n\np { background: url(x) }"},
		"a stylesheet in the header":    {"/": "Content-Type: text/html\nLink: <x>; rel=stylesheet\n\n<p>"},
		"a page in the header":          {"/": "Content-Type: text/plain\nRefresh: 0; url=x\n\ntext"},
		"a manifest":                    {"/": html + "<link rel=manifest href=a.json>", "/a.json": "Content-Type: application/json\n\n" + `{"icons": [{"src": "x"}]}`},
		"a module":                      {"/": html + "<script type=module src=a.js></script>", "/a.js": "Content-Type: text/javascript\n\nimport './x'"},
		"the document of a frame":       {"/": html + `<iframe srcdoc="<img src=x>"></iframe>`},
		"a style sheet with two values": {"/": html + "<link rel='alternate stylesheet' href=x>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents["/x"] = html + "<p>"
			site := serveDocuments(t, documents)
			dir, opts := t.TempDir(), noHost()
			opts.Crawl = crawl.Options{Scope: crawl.Scope{MaxDepth: 2}, NoRobots: true}
			for range 2 { // the second run finds the pages unchanged
				if _, err := mirrorAgain(t, dir, opts, site.URL+"/"); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(filepath.Join(dir, "x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestConvertedFrames(t *testing.T) {
	t.Parallel()
	site := serveDocuments(t, map[string]string{
		"/":  "Content-Type: text/html; charset=windows-1251\n\n" + `<iframe srcdoc="&lt;img src=/x&gt;"></iframe>`,
		"/x": html + "<p>",
	})
	dir := t.TempDir()
	run(t, dir, site.URL+"/", mirror.Options{Convert: true, Crawl: crawl.Options{NoRobots: true}, Layout: noHost().Layout})
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if want := `<meta charset="windows-1251"><iframe srcdoc="&lt;img src=&quot;x&quot;&gt;"></iframe>`; err != nil || string(page) != want {
		t.Errorf("got %s, want %s, %v", page, want, err)
	}
}

func TestUnreadPagesAreReported(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		documents map[string]string
		spider    bool
		want      []string
	}{
		"a start page of text":  {documents: map[string]string{"/": "Content-Type: text/plain\n\n<a href=x>"}, want: []string{"/ text/plain"}},
		"a start page of bytes": {documents: map[string]string{"/": "\n\n\x00"}, want: []string{"/ unknown"}},
		"a checked start page":  {documents: map[string]string{"/": "Content-Type: image/png\n\nx"}, spider: true, want: []string{"/ image/png"}},
		"a page of text":        {documents: map[string]string{"/": html + "<a href=a><img src=b>", "/a": "Content-Type: text/plain\n\n<!doctype html><a href=x>", "/b": "Content-Type: image/png\n\n<p>"}, want: []string{"/a text/plain"}},
		"texts and pictures":    {documents: map[string]string{"/": html + "<a href=a>a</a><a href=b>", "/a": "Content-Type: text/plain\n\nwords", "/b": "Content-Type: image/png\n\nx"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := serveDocuments(t, tt.documents)
			var got []string
			opts := noHost()
			opts.Crawl.NoRobots, opts.Spider = true, tt.spider
			opts.Unread = func(u uri.URI, contentType string) { got = append(got, u.Path()+" "+contentType) }
			if _, _, err := tryRun(t, t.TempDir(), site.URL+"/", opts); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
