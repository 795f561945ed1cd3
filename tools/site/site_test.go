package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The crawler of urlget visits every page from the home page on: no link is dead, and no page is without
// a link to it.
func TestSiteHasNoDeadLinks(t *testing.T) {
	dir := t.TempDir()
	if err := write("../..", dir); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()
	c := fetch.New(nil, httpdriver.Load)
	defer c.Close()
	visited := make(map[string]bool)
	_, err := crawl.Run(t.Context(), c, []uri.URI{uri.MustParse(s.URL + "/")}, &crawl.Options{
		Ended: func(p *crawl.Page, err error) {
			visited[strings.TrimPrefix(p.URL.Path(), "/")] = true
			if err != nil {
				t.Error(err)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	for _, file := range files {
		if name := filepath.Base(file); !visited[name] {
			t.Errorf("no page links to %s", name)
		}
	}
	fragments(t, dir, files)
}

var (
	hrefs = regexp.MustCompile(`href="([^":]*)#([^"]+)"`)
	ids   = regexp.MustCompile(`id="([^"]+)"`)
)

// fragments checks that every link to a section leads to one.
func fragments(t *testing.T, dir string, files []string) {
	t.Helper()
	has := make(map[string]bool)
	texts := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		texts[name] = string(text)
		for _, m := range ids.FindAllStringSubmatch(string(text), -1) {
			if has[name+"#"+m[1]] {
				t.Errorf("%s has the section %s twice", name, m[1])
			}
			has[name+"#"+m[1]] = true
		}
	}
	for name, text := range texts {
		for _, m := range hrefs.FindAllStringSubmatch(text, -1) {
			page := m[1]
			if page == "" {
				page = name
			}
			if !has[page+"#"+m[2]] {
				t.Errorf("%s links to %s#%s, which does not exist", name, page, m[2])
			}
		}
	}
}

func TestDocumentsBecomePages(t *testing.T) {
	t.Parallel()
	index := make(terms)
	c := &converter{from: document{"docs/a.md", "a.html"}, pages: map[string]string{"docs/b.md": "b.html", "README.md": "index.html"}, index: index}
	got := string(c.convert([]byte("# Title\n\n<!-- func x -->\n```go\nif a < b {}\n```\n\n## Why & how?\n\n[b](b.md#x) [home](../README.md) [code](../serve/a.go) [w](https://www.example/) ![p](img/p.png) `--flag`\n\n## Why & how?\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")))
	for _, want := range []string{`<h1 id="title">`, "if a &lt; b {}", `<h2 id="why--how">`, `<h2 id="why--how-1">`, `href="b.html#x"`, `href="index.html"`,
		`href="` + source + `serve/a.go"`, `href="https://www.example/"`, `src="img/p.png"`, "<td>2</td>"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(got, "func x") {
		t.Errorf("a comment in %s", got)
	}
	if c.title != "Title" || fmt.Sprint(c.sections) != "[{why--how Why & how?} {why--how-1 Why & how?}]" {
		t.Errorf("title %q, sections %v", c.title, c.sections)
	}
	if got := index["--flag"]["a.html#why--how"]; got != "Title: Why & how?" {
		t.Errorf("the flag is in %v", index["--flag"])
	}
	if list := string(index.html()); !strings.Contains(list, `<dt>--flag</dt><dd><a href="a.html#why--how">Title: Why &amp; how?</a></dd>`) {
		t.Error(list)
	}
}
