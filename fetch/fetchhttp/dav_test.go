package fetchhttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchfs"
	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gopher"
)

func TestWebDAV(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	tree := fstest.MapFS{"d/pear.txt": {Data: []byte("0123456789"), ModTime: day}, "d/é&.bin": {Data: []byte("e"), ModTime: day}, "d/index.html": {Data: []byte("<p>")},
		"d/large": {Data: []byte(strings.Repeat("x", 4_000_001) + "yz" + strings.Repeat("x", 100_000)), ModTime: day}}
	files, menus := ftpd.Start(t, ftpd.Options{Tree: tree}), gopherd.Start(t, gopherd.Options{Tree: tree})
	c := fetch.New(nil, ftp.Load, gopher.Load)
	t.Cleanup(func() { c.Close() })
	for _, root := range []string{files.URL, menus.URL} {
		s := httptest.NewServer(fetchhttp.NewWebDAV(fetchfs.New(t.Context(), c, root), "/secret"))
		t.Cleanup(s.Close)
		for _, tt := range []struct {
			method, path string
			header       map[string]string
			status       int
			want         []string
		}{
			{"OPTIONS", "/secret/", nil, 200, nil},
			{"PROPFIND", "/secret/", map[string]string{"Depth": "0"}, 207, []string{"<D:href>/secret/</D:href>", "<D:collection "}},
			{"PROPFIND", "/secret/d/", map[string]string{"Depth": "1"}, 207, []string{"<D:href>/secret/d/pear.txt</D:href>", "<D:getcontentlength>10<", "text/plain",
				"<D:href>/secret/d/%C3%A9&amp;.bin</D:href>"}},
			{"PROPFIND", "/secret/d/pear.txt", map[string]string{"Depth": "0"}, 207, []string{"<D:getcontentlength>10<"}},
			{"PROPFIND", "/secret/", nil, 403, []string{"propfind-finite-depth"}},
			{"PROPFIND", "/secret/", map[string]string{"Depth": "infinity"}, 403, []string{"propfind-finite-depth"}},
			{"PROPFIND", "/secret/absent", map[string]string{"Depth": "1"}, 404, nil},
			{"PROPFIND", "/other/", map[string]string{"Depth": "1"}, 404, nil},
			{"PROPFIND", "/secretive/", map[string]string{"Depth": "1"}, 404, nil},
			{"GET", "/secret/d/pear.txt", nil, 200, []string{"0123456789"}},
			{"GET", "/secret/d/pear.txt", map[string]string{"Range": "bytes=2-4"}, 206, []string{"234"}},
			{"GET", "/secret/d/index.html", nil, 200, []string{"<p>"}},
			{"GET", "/secret/d/%C3%A9&.bin", nil, 200, []string{"e"}},
			{"GET", "/secret/d/", nil, 200, []string{`<a href="./%C3%A9&amp;.bin">&#233;&amp;.bin</a>`}},
			{"GET", "/secret/", nil, 200, []string{`<a href="./d/">d/</a>`}},
			{"GET", "/secret/absent", nil, 404, nil},
			{"GET", "/secret/../../d/pear.txt", nil, 200, []string{"0123456789"}}, // it stays in the tree
			{"GET", "/secret/d/large", map[string]string{"Range": "bytes=4000000-4000002"}, 206, []string{"xyz"}},
			{"PUT", "/secret/d/new", nil, 405, []string{"read-only"}},
			{"DELETE", "/secret/d/pear.txt", nil, 405, nil},
			{"MKCOL", "/secret/x", nil, 405, nil},
			{"MOVE", "/secret/d/pear.txt", map[string]string{"Destination": "/secret/y"}, 405, nil},
			{"LOCK", "/secret/d/pear.txt", nil, 405, nil},
			{"PROPPATCH", "/secret/d/pear.txt", nil, 405, nil},
		} {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			resp, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != tt.status {
				t.Errorf("%s %s of %s: %s, %q, %v", tt.method, tt.path, root, resp.Status, body, err)
			}
			for _, w := range tt.want {
				if !strings.Contains(string(body), w) {
					t.Errorf("%s %s of %s: no %q in %s", tt.method, tt.path, root, w, body)
				}
			}
		}
	}
	// A range is one of the server, and nothing is written.
	is := func(prefix string) bool {
		return slices.ContainsFunc(files.Log(), func(line string) bool { return strings.HasPrefix(line, prefix) })
	}
	if !is("REST 39") || is("STOR") || is("DELE") {
		t.Errorf("the server's log: %q", files.Log())
	}
	// A listing with sizes takes one request.
	before := len(files.Log())
	s := httptest.NewServer(fetchhttp.NewWebDAV(fetchfs.New(t.Context(), c, files.URL), ""))
	t.Cleanup(s.Close)
	r, _ := http.NewRequestWithContext(t.Context(), "PROPFIND", s.URL+"/d", nil)
	r.Header.Set("Depth", "1")
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	for _, line := range files.Log()[before:] {
		if strings.HasPrefix(line, "RETR") || strings.HasPrefix(line, "SIZE") && strings.Contains(line, ".") {
			t.Errorf("for a listing: %s", line)
		}
	}
}
