package fetchhttp_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
			{"PROPFIND", "/secret/", map[string]string{"Depth": "0"}, 207, []string{"<D:href>/secret/</D:href>", "<D:collection/>"}},
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
			{"GET", "/secret/a%00", nil, 400, nil},
			{"PROPFIND", "/secret/a%0d%0aDELE%20x", map[string]string{"Depth": "1"}, 400, nil},
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

// ask sends a request of WebDAV to h.
func ask(t *testing.T, h http.Handler, method, path, body string, fields ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// The class is 1, and nothing says that there are locks (RFC 4918, sections 10.1, 15.10 and 18).
func TestWebDAVHasNoLocks(t *testing.T) {
	t.Parallel()
	h := fetchhttp.NewWebDAV(fstest.MapFS{"a": {}}, "")
	if got := ask(t, h, "OPTIONS", "/a", "").Header(); got.Get("DAV") != "1" || got.Get("Allow") != "OPTIONS, GET, HEAD, PROPFIND" {
		t.Errorf("%v", got)
	}
	for _, body := range []string{"", `<propfind xmlns="DAV:"><propname/></propfind>`} {
		if got := ask(t, h, "PROPFIND", "/a", body, "Depth", "0").Body.String(); strings.Contains(got, "lock") || !strings.Contains(got, "getcontentlength") {
			t.Error(got)
		}
	}
	got := ask(t, h, "PROPFIND", "/a", `<propfind xmlns="DAV:"><prop><supportedlock/><lockdiscovery/></prop></propfind>`, "Depth", "0")
	const none = "<D:prop><D:supportedlock/><D:lockdiscovery/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status>"
	if got.Code != 207 || !strings.Contains(got.Body.String(), none) || strings.Contains(got.Body.String(), "200 OK") {
		t.Error(got.Body)
	}
	for method, want := range map[string]int{"LOCK": 405, "UNLOCK": 405, "TRACE": 405, "PATCH": 405, "POST": 405, "SEARCH": 501, "X": 501, "get": 501} {
		if got := ask(t, h, method, "/a", ""); got.Code != want || got.Header().Get("Allow") == "" {
			t.Errorf("%s: %d, %v", method, got.Code, got.Header())
		}
	}
}

func TestPropfindIsBounded(t *testing.T) {
	t.Parallel()
	h := fetchhttp.NewWebDAV(fstest.MapFS{"a": {}, "d/b": {}}, "")
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "<p%d/>", i)
		}
		return `<propfind xmlns="DAV:"><prop>` + b.String() + "</prop></propfind>"
	}
	const find = `<D:propfind xmlns:D="DAV:">%s</D:propfind>`
	for _, tt := range []struct {
		body string
		want int
	}{
		{"", 207},
		{names(100), 207},
		{names(101), 400},
		{names(5000), 400},
		{strings.Replace(names(1), "p0", strings.Repeat("x", 20_000), 1), 413},
		{fmt.Sprintf(find, "<D:allprop/>") + "\n<!-- end -->\n", 207},
		{fmt.Sprintf(find, "<D:allprop/><D:include><D:getetag/></D:include>"), 207},
		{fmt.Sprintf(find, "<D:propname/><x xmlns='u:'><y/></x>"), 207},
		{fmt.Sprintf(find, ""), 400},
		{fmt.Sprintf(find, "<D:allprop/><D:propname/>"), 400},
		{fmt.Sprintf(find, "<D:propname/><D:include/>"), 400},
		{fmt.Sprintf(find, "<D:prop><bar:foo xmlns:bar=''/></D:prop>"), 400},
		{fmt.Sprintf(find, "<D:prop><bar:foo/></D:prop>"), 400},
		{fmt.Sprintf(find, "<D:prop><a>"), 400},
		{fmt.Sprintf(find, "<D:allprop/>") + "<x/>", 400},
		{"<propfind><allprop/></propfind>", 400},
		{"<D:prop xmlns:D='DAV:'/>", 400},
		{"text", 400},
		{`<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>` + fmt.Sprintf(find, "<D:prop>&c;</D:prop>"), 400},
		{`<!DOCTYPE x SYSTEM "file:///etc/passwd">` + fmt.Sprintf(find, "<D:allprop/>"), 400},
		{strings.Repeat("<x xmlns='DAV:'>", 1000), 400},
	} {
		if got := ask(t, h, "PROPFIND", "/", tt.body, "Depth", "1"); got.Code != tt.want {
			t.Errorf("%.100s: %d, %.300s", tt.body, got.Code, got.Body)
		} else if tt.want == 207 && xml.Unmarshal(got.Body.Bytes(), new(struct{})) != nil {
			t.Errorf("%.100s: %.300s", tt.body, got.Body)
		}
	}
	for depth, want := range map[string]int{"0": 207, "1": 207, "": 403, "infinity": 403, "Infinity": 403, "2": 400, "-1": 400, "1, 0": 400} {
		if got := ask(t, h, "PROPFIND", "/", "", "Depth", depth); got.Code != want {
			t.Errorf("Depth %q: %d", depth, got.Code)
		}
	}
}

// Names of properties and members come back as they are.
func TestPropfindNames(t *testing.T) {
	t.Parallel()
	odd := []string{"a b", "%41", "<x>&\"'", "#?;:@", "\x01\u202e", "ü", `back\slash`, "..x", "+", "]]>"}
	tree := fstest.MapFS{}
	for _, name := range odd {
		tree[name] = &fstest.MapFile{Data: []byte(name)}
	}
	tree["\xff"], tree["a\nb"] = &fstest.MapFile{}, &fstest.MapFile{} // cannot be opened, and are left out
	h := fetchhttp.NewWebDAV(tree, "/s")
	got := ask(t, h, "PROPFIND", "/s/", "", "Depth", "1")
	var listed struct {
		Responses []struct {
			Ref  string `xml:"DAV: href"`
			Size int    `xml:"DAV: propstat>prop>getcontentlength"`
		} `xml:"DAV: response"`
	}
	if err := xml.Unmarshal(got.Body.Bytes(), &listed); err != nil || len(listed.Responses) != len(odd)+1 {
		t.Fatalf("%v, %s", err, got.Body)
	}
	found := map[string]bool{}
	for _, r := range listed.Responses[1:] {
		if strings.ContainsFunc(r.Ref, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"<>\`, c) }) {
			t.Errorf("the reference %q is not a URL", r.Ref)
		}
		content := ask(t, h, "GET", r.Ref, "")
		if found[content.Body.String()] = true; content.Code != 200 || content.Body.Len() != r.Size {
			t.Errorf("%s: %d, %q", r.Ref, content.Code, content.Body)
		}
	}
	for _, name := range odd {
		if !found[name] {
			t.Errorf("no %q", name)
		}
	}
	got = ask(t, h, "PROPFIND", "/s/ü", `<propfind xmlns="DAV:"><prop><a xmlns="u:&lt;x"/><b xmlns=""/><c xmlns="u:&lt;x"/><getetag/></prop></propfind>`, "Depth", "0")
	if text := got.Body.String(); !strings.Contains(text, `<n0:a/><b/><n0:c/><D:getetag/></D:prop><D:status>HTTP/1.1 404`) || !strings.Contains(text, `xmlns:n0="u:&lt;x"`) {
		t.Error(text)
	}
}

// A redirect stays on the host, whatever a request names.
func TestWebDAVSlashes(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"d/a:b/c": {}, "a": {Data: []byte("content")}}
	for _, prefix := range []string{"", "/s"} {
		h := fetchhttp.NewWebDAV(tree, prefix)
		for _, tt := range []struct {
			path, location string
			status         int
		}{
			{"/d", "/d/", 301},
			{"//d", "/d/", 301},
			{"///d", "/d/", 301},
			{"//d/./a:b", "/d/a:b/", 301},
			{"//d/x/..", "/d/", 301},
			{"/d//", "", 200},
			{"/a", "", 200},
			{"/a/", "", 404}, // it is not a directory
			{"/a//", "", 404},
		} {
			got := ask(t, h, "GET", prefix+tt.path, "")
			want := tt.location
			if want != "" {
				want = prefix + want
			}
			if got.Code != tt.status || got.Header().Get("Location") != want {
				t.Errorf("%s%s: %d, %q, want %d, %q", prefix, tt.path, got.Code, got.Header().Get("Location"), tt.status, want)
			}
		}
		if got := ask(t, h, "PROPFIND", prefix+"/a/", "", "Depth", "0"); got.Code != 404 {
			t.Errorf("PROPFIND %s/a/: %d", prefix, got.Code)
		}
	}
}

// A file without seeking, as in a zip file, has ranges and conditions too.
func TestWebDAVConditions(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	h := fetchhttp.NewWebDAV(tagged{fstest.MapFS{"a": {Data: []byte("0123456789"), ModTime: day}}}, "")
	for _, tt := range []struct {
		method       string
		field, value string
		status       int
		body, length string
	}{
		{"GET", "X", "", 200, "0123456789", "10"},
		{"HEAD", "X", "", 200, "", "10"},
		{"GET", "Range", "bytes=2-4", 206, "234", "3"},
		{"GET", "Range", "bytes=-2", 206, "89", "2"},
		{"GET", "Range", "bytes=10-", 416, "invalid range: failed to overlap\n", ""},
		{"GET", "If-None-Match", `"v1"`, 304, "", ""},
		{"GET", "If-None-Match", `W/"v1", "x"`, 304, "", ""},
		{"GET", "If-None-Match", `"v2"`, 200, "0123456789", "10"},
		{"HEAD", "If-None-Match", "*", 304, "", ""},
		{"GET", "If-Match", `"v1"`, 200, "0123456789", "10"},
		{"GET", "If-Match", `"v2"`, 412, "", ""},
		{"GET", "If-Match", `W/"v1"`, 412, "", ""},
		{"GET", "If-Modified-Since", "Wed, 04 Mar 2026 05:06:00 GMT", 304, "", ""},
		{"GET", "If-Unmodified-Since", "Wed, 04 Mar 2026 05:05:00 GMT", 412, "", ""},
	} {
		got := ask(t, h, tt.method, "/a", "", tt.field, tt.value)
		if got.Code != tt.status || got.Body.String() != tt.body || got.Header().Get("Content-Length") != tt.length && tt.length != "" {
			t.Errorf("%s with %s: %s: %d, %v, %q", tt.method, tt.field, tt.value, got.Code, got.Header(), got.Body)
		}
	}
	got := ask(t, h, "GET", "/a", "", "Range", "bytes=8-9,0-1").Body.String()
	if !strings.Contains(got, "\r\n\r\n89\r\n") || !strings.Contains(got, "\r\n\r\n01\r\n") {
		t.Errorf("two ranges: %q", got)
	}
}

// tagged hides that files can seek, and gives them an entity tag.
type tagged struct{ fs.FS }

func (f tagged) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	return plainFile{file}, err
}

type plainFile struct{ fs.File }

func (f plainFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return taggedInfo{info}, err
}

type taggedInfo struct{ fs.FileInfo }

func (taggedInfo) Sys() any { return &fetch.Meta{Validator: fetch.Validator{ETag: `"v1"`}} }

// A member that cannot be read does not empty the listing.
func TestBadMembersAreLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, target := range map[string]string{"out": "/etc/passwd", "up": "../..", "broken": "none", "in": "file"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	h := fetchhttp.NewWebDAV(root.FS(), "")
	got := ask(t, h, "PROPFIND", "/", "", "Depth", "1").Body.String()
	if strings.Count(got, "<D:getcontentlength>5<") != 2 || strings.Count(got, "<D:response>") != 3 {
		t.Error(got)
	}
	if got := ask(t, h, "GET", "/out", ""); got.Code == 200 || strings.Contains(got.Body.String(), "root:") {
		t.Errorf("%d, %s", got.Code, got.Body)
	}
}
