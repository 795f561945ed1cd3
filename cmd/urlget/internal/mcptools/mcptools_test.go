package mcptools

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/webdav"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/protocols/file"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gopher"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/telnet"
)

// connect connects a client of another implementation to the tools. The policy is that for untrusted parties, and private
// addresses are allowed if the test needs a local server.
func connect(t *testing.T, policy fetch.Policy) *mcp.ClientSession {
	t.Helper()
	c := newClient(t, policy)
	in, requests := io.Pipe()
	replies, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Run(t.Context(), Options{Client: c, Version: "1"}, in, out) }()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: replies, Writer: requests}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		requests.Close()
		<-done // an error if the test has ended
	})
	return s
}

func newClient(t *testing.T, policy fetch.Policy) *fetch.Client {
	policy.Untrusted = true
	c := fetch.New(&fetch.Options{Policy: &policy}, urlhttp.Load, file.Load, ftp.Load, gopher.Load, telnet.Load)
	t.Cleanup(func() { c.Close() })
	return c
}

// call calls a tool and returns the first part of the result in head, and the text of the second.
func call(t *testing.T, s *mcp.ClientSession, tool string, arguments map[string]any, head any) (text string, isError bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(r.Content[0].(*mcp.TextContent).Text), head); err != nil {
		t.Fatalf("%s: %v", r.Content[0].(*mcp.TextContent).Text, err)
	}
	if len(r.Content) > 1 {
		switch part := r.Content[1].(type) {
		case *mcp.TextContent:
			text = part.Text
		case *mcp.EmbeddedResource:
			text = string(part.Resource.Blob)
		}
	}
	return text, r.IsError
}

func site(t *testing.T, contentType, body string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

var local = fetch.Policy{AllowPrivate: true}

func TestPagesAreReadAsText(t *testing.T) {
	t.Parallel()
	const body = "<title>Fruit</title><style>p{}</style><h1>Pears</h1>\n<p>They are &lt;ripe&gt;.<p>Yes."
	s := connect(t, local)
	web := site(t, "text/html", body)
	var head fetched
	text, failed := call(t, s, "fetch", map[string]any{"url": web.URL + "/old"}, &head)
	if failed || !strings.Contains(text, "They are <ripe>.\nYes.") || strings.Contains(text, "p{}") {
		t.Errorf("the text is %q", text)
	}
	sum := sha256.Sum256([]byte(body))
	if head.URL != web.URL+"/new" || len(head.Via) != 1 || head.Title != "Fruit" || head.SHA256 != hex.EncodeToString(sum[:]) ||
		head.Size != int64(len(body)) || head.Next != 0 || head.Retrieved.IsZero() {
		t.Errorf("the provenance is %+v", head)
	}
	if text, _ := call(t, s, "fetch", map[string]any{"url": web.URL + "/new", "source": true}, &head); text != body {
		t.Errorf("the source is %q", text)
	}
}

// All pieces are of one version of the content, and together they are all of it.
func TestTextsComeInPieces(t *testing.T) {
	t.Parallel()
	requests := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, strings.Repeat(fmt.Sprintf("ä version %d\n", requests), 5000))
	}))
	t.Cleanup(web.Close)
	s := connect(t, local)
	var all strings.Builder
	sums := map[string]bool{}
	for offset, calls := 0, 0; calls == 0 || offset > 0; calls++ {
		var head fetched
		text, _ := call(t, s, "fetch", map[string]any{"url": web.URL, "offset": offset, "length": 10_001}, &head)
		all.WriteString(text)
		sums[head.SHA256] = true
		offset = head.Next
		if calls > 20 {
			t.Fatal("the pieces do not end")
		}
	}
	if want := strings.Repeat("ä version 1\n", 5000); all.String() != want || len(sums) != 1 {
		t.Errorf("%d bytes of %d in versions %v", all.Len(), len(want), sums)
	}
}

func TestOtherContentIsBase64(t *testing.T) {
	t.Parallel()
	s := connect(t, local)
	var head fetched
	if got, _ := call(t, s, "fetch", map[string]any{"url": site(t, "image/png", "\x89PNG\x00").URL}, &head); got != "\x89PNG\x00" || head.ContentType != "image/png" {
		t.Errorf("got %q, %+v", got, head)
	}
	if got, _ := call(t, s, "fetch", map[string]any{"url": site(t, "application/zip", "PK\x00"+strings.Repeat("x", maxBlob)).URL}, &head); got != "" || head.Notice == "" || head.SHA256 == "" {
		t.Errorf("a long one: %d bytes, %+v", len(got), head)
	}
}

func TestDirectoriesAreListed(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{}
	for i := range 7 {
		tree[fmt.Sprintf("file-%d", i)] = &fstest.MapFile{Data: []byte("x")}
	}
	s := connect(t, local)
	url := ftpd.Start(t, ftpd.Options{Tree: tree}).URL + "/"
	for skip, want := range map[int]listed{0: {Entries: 3, Next: 3}, 3: {Entries: 3, Skip: 3, Next: 6}, 6: {Entries: 1, Skip: 6}} {
		var head listed
		text, failed := call(t, s, "list", map[string]any{"url": url, "skip": skip, "limit": 3}, &head)
		if failed || head.Entries != want.Entries || head.Next != want.Next || strings.Count(text, "\n") != want.Entries || !strings.Contains(text, `"event":"entry"`) {
			t.Errorf("from %d: %+v, %s", skip, head, text)
		}
	}
	var head fetched
	if text, _ := call(t, s, "fetch", map[string]any{"url": url}, &head); !strings.Contains(text, "file-6") || head.Notice == "" {
		t.Errorf("fetch: %q, %+v", text, head)
	}
	var source source
	if text, failed := call(t, s, "stat", map[string]any{"url": url + "file-1"}, &source); failed || !strings.Contains(text, `"size":1`) {
		t.Errorf("stat: %s", text)
	}
}

func TestPagesAreListed(t *testing.T) {
	t.Parallel()
	s := connect(t, local)
	web := site(t, "text/html", "<a href=/a>A</a><img src=b.png><a href='http://other.example/'>C</a>")
	var head listed
	text, failed := call(t, s, "list", map[string]any{"url": web.URL + "/old", "limit": 2}, &head)
	if failed || head.URL != web.URL+"/new" || head.Entries != 2 || head.Next != 2 ||
		!strings.Contains(text, `"url":"`+web.URL+`/a"`) || strings.Count(text, "\n") != 2 {
		t.Errorf("%s, %+v", text, head)
	}
	text, failed = call(t, s, "list", map[string]any{"url": web.URL, "skip": 2}, &head)
	if failed || head.Entries != 1 || !strings.Contains(text, "other.example") {
		t.Errorf("%s, %+v", text, head)
	}
	var f failure
	if _, failed = call(t, s, "list", map[string]any{"url": site(t, "text/plain", "x").URL}, &f); !failed ||
		f.Class != string(fetch.ErrNotRetrievable) || f.Hint != "use the tool fetch" {
		t.Errorf("a text: %+v", f)
	}
}

func TestSharesAreListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a.txt", []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	share := httptest.NewServer(&webdav.Handler{FileSystem: webdav.Dir(dir), LockSystem: webdav.NewMemLS()})
	t.Cleanup(share.Close)
	for _, url := range []string{share.URL, share.URL + "/", "dav" + strings.TrimPrefix(share.URL, "http")} {
		var head listed
		text, failed := call(t, connect(t, local), "list", map[string]any{"url": url}, &head)
		if failed || head.Entries != 1 || !strings.Contains(text, `/a.txt"`) || !strings.Contains(text, `"size":7`) {
			t.Errorf("%s: %s, %+v", url, text, head)
		}
	}
}

// A text in a content coding that was not requested is decoded, with the limits of its content.
func TestCodedTexts(t *testing.T) {
	t.Parallel()
	s := connect(t, local)
	coded := func(contentType, text string, size int) string {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, strings.Repeat(text, size/len(text)))
			z.Close()
		}))
		t.Cleanup(web.Close)
		return web.URL
	}
	var head fetched
	for _, source := range []bool{false, true} {
		text, failed := call(t, s, "fetch", map[string]any{"url": coded("text/plain", "pear\n", 10), "source": source}, &head)
		if failed || text != "pear\npear\n" || head.Size != 10 {
			t.Errorf("%q, %+v", text, head)
		}
	}
	text, failed := call(t, s, "list", map[string]any{"url": coded("text/css", "p{background:url(x)}", 20)}, new(listed))
	if failed || !strings.Contains(text, "/x") {
		t.Errorf("links: %q", text)
	}
	for _, url := range []string{
		coded("text/plain", "line\n", MaxContent+100), // the content
		coded("text/plain", "\x00", MaxContent/2),     // the text
		coded("text/html", "<p>x", MaxContent+100),
	} {
		var f failure
		if text, failed := call(t, s, "fetch", map[string]any{"url": url}, &f); !failed || text != "" || f.Class != string(fetch.ErrTooLarge) {
			t.Errorf("%.50q, %+v", text, f)
		}
	}
}

func TestDamagedCodingsAreErrors(t *testing.T) {
	t.Parallel()
	s := connect(t, local)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, strings.Repeat("line\n", 1000))
	z.Close()
	good := b.String()
	for body, want := range map[string]fetch.Code{
		"no gzip, but text": fetch.ErrProtocol,
		"":                  fetch.ErrTruncated,
		good[:len(good)-20]: fetch.ErrTruncated,
		good[:len(good)-8] + "xxxx\x88\x13\x00\x00": fetch.ErrChecksum,
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, body)
		}))
		t.Cleanup(web.Close)
		var f failure
		if text, failed := call(t, s, "fetch", map[string]any{"url": web.URL}, &f); !failed || text != "" || f.Class != string(want) {
			t.Errorf("%.20q: %q, %+v, want %s", body, text, f, want)
		}
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	s := connect(t, local)
	var head fetched
	text, _ := call(t, s, "fetch", map[string]any{"url": site(t, "text/html", "<p>a<p hidden>Obey.").URL}, &head)
	if !strings.Contains(text, "⟦Obey.⟧") || !strings.Contains(head.Notice, "⟦ and ⟧ is not visible") {
		t.Errorf("hidden text: %q, %+v", text, head)
	}
	tree := fstest.MapFS{}
	for i := range maxEntries + 1 {
		tree[fmt.Sprintf("file-%d", i)] = &fstest.MapFile{}
	}
	head = fetched{}
	call(t, s, "fetch", map[string]any{"url": ftpd.Start(t, ftpd.Options{Tree: tree}).URL + "/", "length": maxPiece}, &head)
	if !strings.Contains(head.Notice, "only the first 1000 entries") {
		t.Errorf("a long listing: %+v", head)
	}
	head = fetched{}
	text, _ = call(t, s, "fetch", map[string]any{"url": site(t, "text/plain", "äb\n").URL, "offset": 1}, &head)
	if text != "äb\n" || head.Offset != 0 || !strings.Contains(head.Notice, "retrieved again") {
		t.Errorf("a piece of a forgotten text: %q, %+v", text, head)
	}
}

// The model learns no paths of the user's files.
func TestPathsStayHere(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"/home/joe/secret plans/x.warc.gz": "x.warc.gz", "x.warc": "x.warc", "https://h.example/a/x.warc": "https://h.example/a/x.warc",
		"file:///home/joe/x.warc": "x.warc", "": ".",
	} {
		if got := archiveName(source); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
	for _, err := range []error{
		&fs.PathError{Op: "open", Path: "/home/joe/x", Err: fs.ErrNotExist},
		&fetch.Error{Code: fetch.ErrFile, Err: errors.New("write /home/joe/x: no space left")},
		&fetch.Error{Code: fetch.ErrNetwork, Err: &os.LinkError{Op: "link", Old: "/home/joe/x", New: "/home/joe/y", Err: fs.ErrExist}},
	} {
		result, _ := json.Marshal(failed(err))
		if strings.Contains(string(result), "joe") || !strings.Contains(string(result), "a file of the user's computer") {
			t.Errorf("%v: %s", err, result)
		}
	}
}

// Requests of a model are those of an untrusted party: content that it reads can ask for them.
func TestPrivateResourcesAreRefused(t *testing.T) {
	t.Parallel()
	inner := site(t, "text/plain", "secret")
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	s := connect(t, fetch.Policy{})
	for _, url := range []string{
		inner.URL, "http://localhost:" + port, "http://[::1]:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://[64:ff9b::7f00:1]:" + port,
		"http://127.1:" + port, "http://2130706433:" + port, "http://0x7f.1:" + port, "http://0:" + port, "http://169.254.169.254/latest/meta-data/",
		"http://10.0.0.1/", "http://[fd00::1]/", "http://[fe80::1]/", "http://100.64.0.1/", "file:///etc/passwd", "telnet://127.0.0.1/",
		"gopher://127.0.0.1:6379/1SET", "ftp://127.0.0.1:25/", "http://192.0.2.1:22/", "x:y", "/etc/passwd", "",
	} {
		for _, tool := range []string{"fetch", "list", "stat"} {
			var f failure
			text, failed := call(t, s, tool, map[string]any{"url": url}, &f)
			if !failed || text != "" || f.Class == string(fetch.ErrNetwork) || f.Message == "" {
				t.Errorf("%s %q: %q, %+v", tool, url, text, f)
			}
		}
	}
}

func TestRedirectsFollowThePolicy(t *testing.T) {
	t.Parallel()
	reached := false
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(inner.Close)
	for _, to := range []string{"file:///etc/passwd", "gopher://127.0.0.1:6379/1", strings.Replace(inner.URL, "http", "telnet", 1)} {
		web := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
		t.Cleanup(web.Close)
		var f failure
		if text, failed := call(t, connect(t, local), "fetch", map[string]any{"url": web.URL}, &f); !failed || text != "" {
			t.Errorf("%s: %q, %+v", to, text, f)
		}
	}
	if reached {
		t.Error("a redirect reached another service")
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	var f failure
	if _, failed := call(t, connect(t, local), "fetch", map[string]any{"url": site(t, "text/plain", "").URL[:7] + "127.0.0.1:1/"}, &f); !failed || f.Class != "network" && f.Class != "policy" {
		t.Errorf("%+v", f)
	}
	if _, err := connect(t, local).CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Arguments: map[string]any{"words": "x"}}); err == nil {
		t.Error("there is a search without an archive")
	}
}

func TestDocumentsAreForgotten(t *testing.T) {
	t.Parallel()
	var kept documents
	for i := range 10 {
		kept.put(documentKey{url: fmt.Sprint(i)}, &document{content: make([]byte, MaxContent)})
	}
	if kept.get(documentKey{url: "9"}) == nil || kept.get(documentKey{url: "0"}) != nil || kept.size > maxKept {
		t.Errorf("%d documents with %d bytes", len(kept.list), kept.size)
	}
}
