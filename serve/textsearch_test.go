package serve_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/serve"
)

// captureSite returns the name of an archive of a site that is closed, and the host of the site.
func captureSite(t *testing.T, pages map[string][2]string) (path, host string) {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/pears", http.StatusFound)
		case !ok:
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", page[0])
			fmt.Fprint(w, page[1])
		}
	}))
	defer site.Close()
	path = filepath.Join(t.TempDir(), "site.warc.gz")
	w, err := warc.Create(path, warc.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := fetch.New(&fetch.Options{Recorder: capture.New(w, nil, func(err error) { t.Error(err) })}, protocols.All)
	for name := range pages {
		c.ReadAll(t.Context(), site.URL+name, 1<<20)
	}
	c.ReadAll(t.Context(), site.URL+"/moved", 1<<20)
	c.ReadAll(t.Context(), site.URL+"/gone", 1<<20)
	g := gopherd.Start(t, gopherd.Options{Items: map[string][]string{"/": {"iA hole about quinces\t\t$HOST\t$PORT"}}})
	for _, err := range c.List(t.Context(), g.URL+"/1/") {
		if err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path, strings.TrimPrefix(site.URL, "http://")
}

func TestSearchInAnArchive(t *testing.T) {
	t.Parallel()
	path, _ := captureSite(t, map[string][2]string{
		"/pears":  {"text/html", "<title>About <b>pears</title><script>secretword</script><p>A ripe pear &amp; an &lt;img src=x onerror=alert(1)> apple"},
		"/plain":  {"text/plain; charset=iso-8859-1", "Birnen m\xfcssen reifen.\nPears too."},
		"/pic":    {"image/png", "pears in a picture"},
		"/latin":  {"text/html", `<meta charset="iso-8859-2"><p>gru` + "\xb9" + `ka`},
		"/hidden": {"application/octet-stream", "pears\x00\x01"},
	})
	with := func(o *serve.Options, f *fetch.Options) {
		archive, err := replay.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { archive.Close() })
		o.Archive = archive
		f.Middleware = []fetch.Middleware{serve.Archived(archive, replay.Options{})}
		f.DialContext = func(context.Context, string, string) (net.Conn, error) {
			t.Error("the search connects to a server")
			return nil, io.EOF
		}
	}
	u := start(t, with)
	evil := u.request(http.MethodGet, "/archive/text?words=pears", nil)
	evil.Header.Set("Sec-Fetch-Site", "cross-site")
	u.do(evil).want(t, http.StatusOK, `value="pears"`)
	if _, err := os.Stat(path + ".words.gz"); err == nil {
		t.Error("a link of another site has started a search")
	}
	u.get("/archive").want(t, http.StatusOK, `action="/archive/text"`)
	p := u.get("/archive/text?words=PEARS")
	p.want(t, http.StatusOK, "2 documents have all words.", "About &lt;b&gt;<mark>pears</mark></a>", ">http://127.0.0.1:")
	if strings.Index(p.text, "/pears") > strings.Index(p.text, "/plain") {
		t.Error("the document with the word in its title is not the first")
	}
	u.get("/archive/text?words=apple+ripe").want(t, http.StatusOK, "1 document has all words.", "&lt;img src=x onerror=alert(1)&gt;", "A <mark>ripe</mark> pear", "<mark>apple</mark>")
	u.get("/archive/text?words=m%C3%BCssen").want(t, http.StatusOK, "1 document has")
	u.get("/archive/text?words=gru%C5%A1ka").want(t, http.StatusOK, "1 document has")
	u.get("/archive/text?words=quinces").want(t, http.StatusOK, "1 document has", "gopher://")
	u.get("/archive/text?words=secretword").want(t, http.StatusOK, "Nothing found")
	u.get("/archive/text?words=%3Cscript%3E").want(t, http.StatusOK, "Nothing found for “&lt;script&gt;”")
	u.get("/archive/text").want(t, http.StatusOK, "Search the archive")

	// The index is next to the archive, and is read by the next server.
	index := path + ".words.gz"
	before, err := os.Stat(index)
	if err != nil || before.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", before, err)
	}
	start(t, with).get("/archive/text?words=pears").want(t, http.StatusOK, "2 documents")
	if after, _ := os.Stat(index); !os.SameFile(before, after) {
		t.Error("the index was built again")
	}
	if err := os.WriteFile(index, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, with).get("/archive/text?words=pears").want(t, http.StatusOK, "2 documents")
	if after, _ := os.Stat(index); after.Size() != before.Size() {
		t.Error("the damaged index was kept")
	}
	start(t).get("/archive/text?words=pears").want(t, http.StatusNotFound)
}
