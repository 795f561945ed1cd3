package nex

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
	"github.com/urlget/urlget/fetchtest/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := nexd.Start(t, nexd.Options{Tree: tree})
			return fetchtest.Site{
				Load: Load,
				URL: func(name string) string {
					if name == "." {
						return s.URL + "/"
					}
					u := s.URL + "/" + strings.ReplaceAll(uri.Escape(name), "%2F", "/")
					if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
						u += "/"
					}
					return u
				},
				Log:   s.Log,
				Fault: s.Fail,
				Can:   s.Can,
			}
		},
		Skip: map[string]string{
			"Noise":        "any bytes are a document",
			"NotFound":     "that there is no such document is a text like others",
			"ListNotFound": "that there is no such directory is a text like others",
			"FileSystem":   "missing files have a text",
		},
	})
}

func TestRequests(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, Load)
	fetchtest.RunExplain(t, c, map[string]string{
		"nex://h.example":           `send ""`,
		"nex://h.example/":          `send ""`,
		"nex://h.example/a.txt":     `send "a.txt"`,
		"nex://h.example:1901/a/b/": `send "a/b/"`,
		"nex://h.example//a":        `send "/a"`,
		"nex://h.example/a%20b%25":  `send "a b%"`,
		"nex://h.example/search?x":  `send "search?x"`,
		"nex://h.example/é#z":       `send "é"`,
		"nex://h.example/a%0Ab":     "",
		"nex://h.example/a%0D":      "",
		"nex://h.example/a%00":      "",
		"nex://joe@h.example/":      "",
		"nex:x":                     "",
		"nex://h.example/" + strings.Repeat("x", 1+maxPath): "",
	})
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	s := nexd.Start(t, nexd.Options{Tree: fstest.MapFS{"a.html": {}, "a.png": {Data: []byte("\x89PNG")}, "README": {Data: []byte("x\r\ny\n")}, "d/x": {}}})
	c := drive.Client(t, nil, Load)
	for path, want := range map[string]string{"/a.html": "text/html", "/a.png": "image/png", "/README": "text/plain", "/d/": "text/plain", "/": "text/plain", "": "text/plain"} {
		resp, err := c.Get(t.Context(), s.URL+path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if media, _, _ := strings.Cut(resp.ContentType, ";"); media != want || resp.Framing != fetch.FramedByClose || resp.Kind != fetch.KindObject || resp.Size != -1 {
			t.Errorf("%s: %+v, want %s", path, resp.Meta, want)
		}
		resp.Body.Close()
	}
	for _, err := range c.List(t.Context(), s.URL+"/README") {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a document as a directory: %v", err)
		}
	}
}

// TestDirectories reads a directory with text between its links.
func TestDirectories(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/"} {
		conv, err := transcript.Load("testdata/directory.txtar")
		if err != nil {
			t.Fatal(err)
		}
		root := "nex://" + transcript.Server(t, conv)
		var got []string
		for _, e := range drive.MustList(t, drive.Client(t, nil, Load), root+path) {
			got = append(got, e.Kind.String()+" "+e.Name+" "+strings.TrimPrefix(e.URL.String(), root))
		}
		want := "listing nex://my-site.example nex://my-site.example; object about.txt /about.txt; listing The log /nexlog/; " +
			"object web http://example.org; object in a fence /fenced.txt; object last /last"
		if strings.Join(got, "; ") != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}

func TestEmptyDocument(t *testing.T) {
	t.Parallel()
	conv, err := transcript.Load("testdata/empty.txtar")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := drive.Client(t, nil, Load).Get(t.Context(), "nex://"+transcript.Server(t, conv)+"/empty.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if content, err := io.ReadAll(resp.Body); len(content) > 0 || err != nil {
		t.Errorf("got %q, %v", content, err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add("nex://h.example/a%20b/")
	f.Add("nex://[::1]:1901//%0d%0a?x")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := uri.Parse(text)
		if err != nil || u.Scheme() != "nex" {
			return
		}
		path, err := parse(u)
		if err == nil && (strings.ContainsAny(path, "\r\n\x00") || len(path) > maxPath) {
			t.Errorf("%q: %q", text, path)
		}
	})
}
