package serve_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// raw requests a file, with the codings that the browser accepts, and returns it as it was sent.
func (u *user) raw(ref, codings string) page {
	u.t.Helper()
	r := u.request(http.MethodGet, ref, nil)
	r.Header.Set("Accept-Encoding", codings) // not added, so that the transport does not decode
	return u.do(r)
}

func TestStaticFilesAreKeptAndCompressed(t *testing.T) {
	t.Parallel()
	u := start(t)
	home := u.get("/")
	for ref, want := range map[string][2]string{"app.css": {"text/css; charset=utf-8", "--icon: url(\"data:image/svg+xml,%3Csvg xmlns='"}, "app.js": {"text/javascript; charset=utf-8", "use strict"}} {
		ref = home.find(t, "/static/", ref)
		for codings, coded := range map[string]bool{"gzip": true, "br, GZIP;q=0.5": true, "": false, "br": false, "gzip; q=0": false, "xgzip": false} {
			p := u.raw(ref, codings)
			text := io.Reader(strings.NewReader(p.text))
			if got := p.header.Get("Content-Encoding") == "gzip"; got != coded {
				t.Errorf("%s for %q: compressed is %t", ref, codings, got)
			} else if coded {
				z, err := gzip.NewReader(text)
				if err != nil {
					t.Fatal(err)
				}
				text = z
			}
			if plain, err := io.ReadAll(text); err != nil || !bytes.Contains(plain, []byte(want[1])) {
				t.Errorf("%s for %q: %v, there is no %q", ref, codings, err, want[1])
			}
			if got := p.header; got.Get("Content-Type") != want[0] || !strings.Contains(got.Get("Cache-Control"), "immutable") || got.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s: %v", ref, got)
			}
		}
	}
	for _, ref := range []string{"/static/app.css", "/static/other/app.css", home.find(t, "/static/", "app.css") + "x", "/static/icons/file.svg"} {
		if p := u.get(ref); p.status != http.StatusNotFound || p.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, %s", ref, p.status, p.header.Get("Cache-Control"))
		}
	}
}

// TestTheFirstPageIsSmall counts what a browser loads for the first page.
func TestTheFirstPageIsSmall(t *testing.T) {
	t.Parallel()
	u := start(t)
	home := u.raw("/", "gzip")
	size, requests, kept := len(home.text), 1, make(map[string]bool)
	for _, m := range reference.FindAllStringSubmatch(home.text, -1) {
		if strings.HasPrefix(m[1], "/static/") {
			requests, size = requests+1, size+len(u.raw(m[1], "gzip").text)
			kept[m[1]] = true
		}
	}
	if t.Logf("%d requests, %d bytes", requests, size); requests > 3 || size > 20<<10 {
		t.Errorf("the first page takes %d requests and %d bytes", requests, size)
	}
	for _, next := range []page{u.open("data:,hello"), u.get("/following"), u.get("/history")} {
		for _, m := range reference.FindAllStringSubmatch(next.text, -1) {
			if strings.HasPrefix(m[1], "/static/") && !kept[m[1]] {
				t.Errorf("%s loads %s", next.url, m[1])
			}
		}
	}
}

// TestLongListingsHaveFewNodes counts what a browser keeps in memory for a listing.
func TestLongListingsHaveFewNodes(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for i := range 5000 {
		files[fmt.Sprintf("file-%04d.txt", i)] = &fstest.MapFile{Data: []byte("x"), ModTime: day.AddDate(0, 0, i)}
	}
	u := start(t)
	p := u.open("ftp://" + ftpd.Start(t, ftpd.Options{Tree: files}).Addr + "/")
	p.want(t, http.StatusOK, "5000 entries")
	root, err := html.Parse(strings.NewReader(p.text))
	if err != nil {
		t.Fatal(err)
	}
	nodes := 0
	for range root.Descendants() {
		nodes++
	}
	if t.Logf("%d nodes", nodes); nodes >= 30_000 {
		t.Errorf("5000 entries have %d nodes", nodes)
	}
}
