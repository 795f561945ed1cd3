package serve_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"html"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/csod"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/internal/codec/marc"
	"github.com/urlget/urlget/serve"
)

var day = time.Date(1994, time.December, 20, 12, 0, 0, 0, time.UTC)

var cells = regexp.MustCompile(`<td class="name">(?:<a [^>]*>)?([^<]*)`)

// names returns the names in the rows of a table.
func (p page) names() string {
	var list []string
	for _, m := range cells.FindAllStringSubmatch(p.text, -1) {
		list = append(list, m[1])
	}
	return strings.Join(list, " ")
}

func TestListingsAreTables(t *testing.T) {
	t.Parallel()
	f := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{
		"b.txt":   {Data: make([]byte, 3000), ModTime: day},
		"A.bin":   {Data: make([]byte, 10), ModTime: day.AddDate(0, 0, 2)},
		"c/d.txt": {Data: []byte("x"), ModTime: day},
	}})
	u := start(t)
	p := u.open("ftp://" + f.Addr + "/")
	p.want(t, http.StatusOK, "2.9 KiB", `title="3000 bytes"`, "1994-12-22 12:00", "directory", "3 entries", "USER anonymous", "PASS ****")
	for _, tt := range []struct{ query, want string }{
		{"&sort=name", "A.bin b.txt c"},
		{"&sort=name&order=desc", "c b.txt A.bin"},
		{"&sort=size", "c A.bin b.txt"},
		{"&sort=date&order=desc", "A.bin"},
		{"&q=TXT", "b.txt"},
		{"&sort=nonsense", "A.bin b.txt c"},
	} {
		if got := u.get(p.url + tt.query).names(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.query, got, tt.want)
		}
	}
	u.get(p.url+"&q=txt").want(t, http.StatusOK, "1 of 3 entries")
	u.get(p.url+"&layout=menu").want(t, http.StatusOK, `<ul class="menu"`)
	u.get(p.find(t, "/view?", "/c/")).want(t, http.StatusOK, "d.txt", ">Up</a>")
	file := u.get(p.find(t, "/download?", "b.txt"))
	if got := file.header.Get("Content-Disposition"); got != "attachment; filename=b.txt" || len(file.text) != 3000 {
		t.Errorf("the download is %s, %d bytes", got, len(file.text))
	}
}

func TestMenusKeepTheirLayout(t *testing.T) {
	t.Parallel()
	g := gopherd.Start(t, gopherd.Options{Tree: fstest.MapFS{"x/y.txt": {Data: []byte("x")}}, Text: true, Items: map[string][]string{"/": {
		"i  Two  spaces\t\t$HOST\t$PORT", "7Find it\t/find\t$HOST\t$PORT", "3Broken\t\t$HOST\t$PORT", "8A session\t\tterm.example\t23"}},
		Replies: map[string]string{"/find\ta b": "0Found\t/x/y.txt\t127.0.0.1\t70\r\n.\r\n"}})
	u := start(t)
	p := u.open(g.URL + "/1/")
	p.want(t, http.StatusOK, `<span class="name">  Two  spaces</span>`, "1 menu", "3 error", "8 session", `name="words"`)
	box := regexp.MustCompile(`name="u" value="([^"]*find)"`).FindStringSubmatch(p.text)
	if box == nil {
		t.Fatalf("no box in %s", p.text)
	}
	form := url.Values{"words": {"a b"}}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="(\w)" value="([^"]*)">`).FindAllStringSubmatch(p.text[strings.Index(p.text, `action="/search"`):], -1) {
		form.Set(m[1], m[2])
	}
	u.get("/search?"+form.Encode()).want(t, http.StatusOK, "Found")
	u.get(p.find(t, "/view?", "telnet:")).want(t, http.StatusOK, "opens an interactive session", "Linked from") // asks before it connects
	u.open("telnet://127.0.0.1/").want(t, http.StatusOK, "opens an interactive session", "urlget &#39;telnet://127.0.0.1/&#39;", "urlget serve --terminal")
}

func TestSearchWordsInThePath(t *testing.T) {
	t.Parallel()
	c := csod.Start(t, csod.Options{Replies: map[string]string{"pear": "-200:1:    name: Alice Pear\r\n"}})
	u := start(t)
	p := u.open("cso://" + c.Addr + "/")
	p.want(t, http.StatusOK, "Search words")
	q := url.Values{"words": {"pear"}}
	here, _ := url.Parse(p.url)
	for name, values := range here.Query() {
		q[name] = values
	}
	u.get("/search?"+q.Encode()).want(t, http.StatusOK, "Alice Pear")
}

func TestFormsOfGopherPlus(t *testing.T) {
	t.Parallel()
	g := gopherd.Start(t, gopherd.Options{Plus: true, Text: true, Tree: fstest.MapFS{"form": {Data: []byte("x")}, "doc.txt": {Data: []byte("plain\n")}},
		Items: map[string][]string{"/": {"0Form\t/form\t$HOST\t$PORT\t?"}},
		Attributes: map[string]string{"/form": "+ASK:\r\n Note: Do <b>it</b>\r\n Ask: Name:\tnobody\r\n AskP: Word:\r\n AskL: Story:\r\n" +
			" Choose: Colour:\tred\tgreen\r\n Select: Sure?:1\r\n ChooseF: File:\r\n"},
		Views: map[string]map[string]string{"/doc.txt": {"text/html": "<p>one", "text/plain De_DE": "eins\n"}}})
	u := start(t)
	p := u.get(u.open(g.URL+"/1/").find(t, "/view?", "/form%09%09%3F"))
	p.want(t, http.StatusOK, "Do &lt;b&gt;it&lt;/b&gt;", `type="password"`, "<textarea", `<option>green</option>`, `type="file"`, `<option selected>yes`)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, m := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`).FindAllStringSubmatch(p.text[strings.Index(p.text, `action="/form"`):], -1) {
		w.WriteField(m[1], m[2])
	}
	for name, answer := range map[string]string{"a1": "Bob", "a2": "pst", "a3": "one\r\ntwo", "a4": "green", "a5": "no"} {
		w.WriteField(name, answer)
	}
	file, _ := w.CreateFormFile("a6", "x.txt")
	io.WriteString(file, "file content")
	w.Close()
	r := u.request(http.MethodPost, "/form", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Origin", u.server.URL)
	u.do(r).want(t, http.StatusOK, "Bob", "one", "two", "green", "file content")

	// The Gopher+ attributes of an item list its views.
	a := u.open(g.URL + "/0/doc.txt%09%09!")
	a.want(t, http.StatusOK, "<h2 id=\"h-views\">Views</h2>")
	u.get(a.find(t, "v=text/plain;lang=De_DE")).want(t, http.StatusOK, "eins")
}

func TestNewsAreThreads(t *testing.T) {
	t.Parallel()
	article := func(id, subject, references, body string) nntpd.Article {
		return nntpd.Article{ID: id, Text: "From: =?utf-8?q?=C3=85lice?= <alice@example.org>\nNewsgroups: x.y\nSubject: " + subject +
			"\nDate: Tue, 20 Dec 1994 12:00:00 +0000\nMessage-ID: " + id + "\n" + references + "\n" + body + "\n"}
	}
	n := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "x.y", Articles: []nntpd.Article{
		article("<1@x>", "=?utf-8?q?P=C3=A4rs?=", "", "first"),
		article("<2@x>", "Re: one", "References: <1@x>\n", "See <http://www.example/> and <b>.\n> quoted"),
		article("<3@x>", "Re: circle", "References: <3@x> <4@x>\n", "x"),
		article("<4@x>", "Re: circle 2", "References: <3@x>\n", "x"),
	}}}})
	u := start(t)
	p := u.open("news://" + n.Addr + "/x.y")
	p.want(t, http.StatusOK, `<li class="entry d0"><span class="hidden">Level 1: </span>`, `<li class="entry d1">`, "1 reply<", "Pärs", `<span class="author">Ålice</span>`)
	u.get(p.url+"&layout=table").want(t, http.StatusOK, ">No.</a>", "Author Ålice") // of all entries
	m := u.get(p.find(t, "/view?", "2@x"))
	m.want(t, http.StatusOK, "<h1>Re: one</h1>", "<dt>From</dt><dd>Ålice", "&lt;b&gt;", `<span class="quoted">&gt; quoted`)
	u.get(m.find(t, "/view?", "u=news://"+n.Addr+"/x.y", "f=")).want(t, http.StatusOK, "1 reply<")
	m.find(t, "/view?", "u=http://www.example/")
	u.get(m.find(t, "/view?", "1@x")).want(t, http.StatusOK, "first")
}

func TestEntriesAreReadInOrder(t *testing.T) {
	t.Parallel()
	f := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"B.txt": {Data: []byte("second")}, "a.txt": {Data: []byte("first")}, "c.txt": {Data: []byte("third")}}})
	u := start(t)
	list := u.open("ftp://" + f.Addr + "/")
	p := u.get(list.find(t, "/view?", "/a.txt"))
	p.without(t, ">Previous</a>")
	for _, want := range []string{"second", "third"} {
		next := regexp.MustCompile(`<a class="button" href="([^"]*)" data-key="n">`).FindStringSubmatch(p.text)
		if next == nil {
			t.Fatalf("no next page in %s", p.text)
		}
		p = u.get(html.UnescapeString(next[1]))
		p.want(t, http.StatusOK, want, ">Previous</a>", ">Listing</a>")
	}
	p.without(t, ">Next</a>")
	u.open("ftp://"+f.Addr+"/a.txt").without(t, ">Next</a>", ">Listing</a>") // typed
}

func TestDirectoriesAreSorted(t *testing.T) {
	t.Parallel()
	tree := t.TempDir()
	for _, name := range []string{"b.txt", "A.txt", "z/x", ".dot"} {
		os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o700)
		if err := os.WriteFile(filepath.Join(tree, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := start(t)
	p := u.open("file://" + tree + "/")
	if got := p.names(); got != "z .dot A.txt b.txt" {
		t.Errorf("the directory is %q", got)
	}
	p.want(t, http.StatusOK, `<nav class="crumbs" aria-label="Path"><a href="/view?`, `title="directory"`)
	p.find(t, "/view?", "u=file://"+filepath.Dir(tree)+"/")
	u.replace(drivers(t))
	u.open("x-many:3").without(t, ">Date</a>")
}

func TestNewUsersHavePlaces(t *testing.T) {
	t.Parallel()
	u := start(t)
	u.get("/").want(t, http.StatusOK, ">Gopher: Floodgap Systems <small>", "<summary>All schemes</summary>")
	u.get("/?scheme=gopher").want(t, http.StatusOK, `name="url" value="gopher://"`)
	u.get("/?scheme=javascript").want(t, http.StatusOK, `name="url" value=""`)
	u.get("/keys").want(t, http.StatusOK, "<kbd>?</kbd>", "show this page")
}

func TestLoginsOfURLsAreKeptOutOfPages(t *testing.T) {
	t.Parallel()
	f := ftpd.Start(t, ftpd.Options{Users: map[string]string{"alice": "hunter2"}, Tree: fstest.MapFS{"a.txt": {Data: []byte("a letter")}}})
	u := start(t)
	p := u.open("ftp://alice:hunter2@" + f.Addr + "/")
	p.want(t, http.StatusOK, "a.txt")
	p.without(t, "hunter2")
	u.get(p.find(t, "/view?", "/a.txt")).want(t, http.StatusOK, "a letter")
	u.get("/").without(t, "hunter2")
}

func TestLoginForm(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "alice" || password != "hunter2" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, "inside")
	}))
	t.Cleanup(s.Close)
	u := start(t)
	p := u.open(s.URL + "/a")
	p.want(t, http.StatusForbidden, "<title>127.0.0.1 requires a login</title>", "<dt>error class</dt><dd>auth</dd>", `action="/login"`)
	p.without(t, "Try again", ">Download</a>", "Add bookmark")
	form := url.Values{"user": {"alice"}, "password": {"hunter2"}}
	here, _ := url.Parse(p.url)
	for name, values := range here.Query() {
		form[name] = values
	}
	in := u.post("/login", form)
	in.want(t, http.StatusOK, "inside")
	in.without(t, "hunter2")
}

var pear = marc.Record{Fields: []marc.Field{{Tag: "245", Indicators: "14", Subfields: []marc.Subfield{{Code: 'a', Value: "The pear <tree>"}}}}}

func TestDocumentsByTheirTypes(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, "<p>coded <a href=/x>x</a>")
	z.Close()
	gif := "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
	types := map[string][2]string{
		"/html": {"text/html", "<p>x"}, "/none": {"", "<p>x"}, "/octets": {"application/octet-stream", gif}, "/gif": {"image/gif", gif},
		"/json": {"application/json; charset=utf-8", `{"a":"<b>"}`}, "/latin": {"text/plain; charset=iso-8859-1", "caf\xe9"}, "/bare": {"text/plain", "caf\xe9"},
		"/script": {"text/javascript", "alert(1)"}, "/zip": {"application/zip", "PK"}, "/mp3": {"audio/mpeg", "ID3"}, "/mp4": {"video/mp4", "x"},
		"/css": {"text/css", "p { background: url(/pic.png) }"}, "/svg": {"image/svg+xml", "<svg onload=alert(1)>"}, "/coded": {"text/html", zipped.String()},
		"/marc": {"application/marc", string(pear.Encode())}, "/nomarc": {"application/marc", "<script>"},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := types[r.URL.Path]; ok {
			w.Header()["Content-Type"] = []string{c[0]}
			if r.URL.Path == "/coded" {
				w.Header().Set("Content-Encoding", "gzip")
			}
			io.WriteString(w, c[1])
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	u := start(t)
	for path, want := range map[string]string{"/html": "<iframe", "/none": "<iframe", "/octets": "<img src", "/gif": "<img src", "/json": "&lt;b&gt;",
		"/latin": "café", "/bare": "café", "/script": "alert(1)", "/zip": "application/zip", "/mp3": "<audio", "/mp4": "<video", "/css": "background",
		"/svg": "<img src", "/coded": "<iframe", "/marc": "The pear &lt;tree&gt;", "/nomarc": "Download the file"} {
		u.open(s.URL+path).want(t, http.StatusOK, want)
	}
	// In frames, active content is served as text.
	for path, want := range map[string]string{"/html": "text/html; charset=utf-8", "/script": "text/plain", "/zip": "text/plain", "/gif": "image/gif", "/octets": "image/gif",
		"/css": "text/css", "/svg": "image/svg+xml"} {
		frame := u.get(strings.Replace(u.open(s.URL+path).url, "/view", "/content", 1))
		if got := frame.header.Get("Content-Type"); got != want {
			t.Errorf("%s is %s in a frame, want %s", path, got, want)
		}
		if path == "/css" {
			frame.want(t, http.StatusOK, "url(/content?")
		}
	}
	u.get(u.open(s.URL+"/coded").find(t, "/content?")).want(t, http.StatusOK, "<p>coded ", "/view?")
	p := u.open(s.URL + "/absent")
	p.want(t, http.StatusNotFound, "<dt>error class</dt><dd>not_found</dd>", "Server response", "404 page not found", ">Try again</a>", ">Go up</a>", ">Edit the address</a>")
	p.without(t, ">Download</a>", "Add bookmark")
}

func TestLinksStayInside(t *testing.T) {
	t.Parallel()
	s := web(t, "text/html", `<base href="/deep/er/"><a href="one">1</a><a href="../two?x=1&amp;y=2">2</a><a href="#part">3</a>`+
		`<a href="gopher://gopher.example/1/">4</a><a href="http://[bad">5</a><img src="pic.png" srcset="big.png 2x"><frame src=/menu>`+
		`<p style="background: url('back.png')"><style>@import "more.css";</style><a href="mailto:a@b.example">6</a><img src="data:image/gif;base64,AA">`)
	u := start(t)
	frame := u.get(u.open(s.URL+"/page").find(t, "/content?"))
	for _, words := range [][]string{{"/view?", s.URL + "/deep/er/one"}, {"/view?", s.URL + "/deep/two?x=1&y=2"}, {"/view?", "gopher://gopher.example/1/", "x=1"},
		{"/content?", "/deep/er/pic.png"}, {"/content?", "/menu"}, {"/view?", "mailto:"}} {
		frame.find(t, words...)
	}
	frame.want(t, http.StatusOK, `url('/content?`, `@import "/content?`, `<img src="data:image/gif;base64,AA">`, `2x"`)
	for _, ref := range reference.FindAllStringSubmatch(frame.text, -1) {
		if !strings.HasPrefix(ref[1], "/view?") && !strings.HasPrefix(ref[1], "/content?") && !strings.HasPrefix(ref[1], "#") && !strings.HasPrefix(ref[1], "data:") {
			t.Errorf("a link leads to %s", ref[1])
		}
	}
	if strings.Count(frame.text, `target="_top"`) != 5 { // all except the malformed URL
		t.Errorf("not all links leave the frame: %s", frame.text)
	}
}

func TestFragments(t *testing.T) {
	t.Parallel()
	s := web(t, "text/html", `<a href="#here">1</a><a href="/other#there">2</a>`)
	u := start(t)
	frame := u.get(u.open(s.URL+"/page").find(t, "/content?"))
	frame.want(t, http.StatusOK, `<a href="#here">1</a>`)
	if src := u.get(frame.find(t, "/view?", "/other")).find(t, "/content?"); !strings.HasSuffix(src, "#there") {
		t.Errorf("the frame shows %s", src)
	}
}

func TestBookmarksAndHistory(t *testing.T) {
	t.Parallel()
	var file string
	u := start(t, func(o *serve.Options, _ *fetch.Options) { file = o.Bookmarks })
	if err := os.WriteFile(file, []byte("# mine\n\ngopher://gopher.example/1/ A hole\nnonsense here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.get("/").want(t, http.StatusOK, "A hole")
	p := u.open("data:,hello")
	form := url.Values{"title": {"Hello\n<b>"}}
	here, _ := url.Parse(p.url)
	for name, values := range here.Query() {
		form[name] = values
	}
	for range 2 {
		u.post("/bookmark", form).want(t, http.StatusOK, "Remove bookmark") // stays on the page
	}
	u.get("/").want(t, http.StatusOK, "Hello\\n&lt;b&gt;")
	const with = "# mine\n\ngopher://gopher.example/1/ A hole\nnonsense here\ndata:,hello Hello\\n<b>\n"
	if text, _ := os.ReadFile(file); string(text) != with {
		t.Errorf("the file is %q", text)
	}
	u.get(p.url).want(t, http.StatusOK, "Remove bookmark")
	u.post("/unbookmark", form)
	if text, _ := os.ReadFile(file); string(text) != strings.TrimSuffix(with, "data:,hello Hello\\n<b>\n") {
		t.Errorf("the file is %q", text)
	}
	form.Set("s", "wrong")
	u.post("/bookmark", form).want(t, http.StatusForbidden)
	u.get("/history").want(t, http.StatusOK, "data:,hello")
	u.post("/forget", nil).without(t, "data:,hello")
}

func TestTypedURLs(t *testing.T) {
	t.Parallel()
	s := web(t, "text/plain", "a page")
	u := start(t)
	file := strings.TrimPrefix(write(t, "a b.txt", "a file"), "file://")
	for typed, want := range map[string]string{file: "a file", " <URL:" + s.URL + "> ": "a page", strings.TrimPrefix(s.URL, "http://") + "/x": "a page",
		"data:,x": "x"} {
		u.open(typed).want(t, http.StatusOK, want)
	}
	u.open("").want(t, http.StatusBadRequest, "the URL is empty")
	u.open("http://[").want(t, http.StatusBadRequest, "malformed", `name="url" value="http://["`)
	u.open("nothing:x").want(t, http.StatusBadGateway, "no driver")
}

// TestSlowServersAreWaitedFor checks that a page begins before its server responds.
func TestSlowServersAreWaitedFor(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]http.HandlerFunc{"<dd>not_found</dd>": http.NotFound, "<code class=\"copy\">urlget -c &#39;http://127.0.0.1:": func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "A text.")
	}} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if rest := slowPage(t, answer); !strings.Contains(rest, want) {
				t.Errorf("then comes %s", rest)
			}
		})
	}
}

// slowPage returns the part of a page that follows when the server answers late.
func slowPage(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	u := start(t)
	u.serve.SetDelay(time.Millisecond)
	r := u.request(http.MethodPost, "/go", strings.NewReader(url.Values{"url": {s.URL}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", u.server.URL)
	resp, err := u.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	until(t, resp.Body, "Waiting for 127.0.0.1", ">Stop</a>")
	close(release)
	rest, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(rest)
}

// until reads a page until it has all texts.
func until(t *testing.T, body io.Reader, texts ...string) {
	t.Helper()
	var text strings.Builder
	buf := make([]byte, 1024)
	for _, want := range texts {
		for !strings.Contains(text.String(), want) {
			n, err := body.Read(buf)
			text.Write(buf[:n])
			if err != nil && !strings.Contains(text.String(), want) {
				t.Fatalf("%v after %s", err, text.String())
			}
		}
	}
}

// What has arrived is shown before the rest, of documents and of listings.
func TestSlowContentIsShownAsItArrives(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]string{"x-slow:/text": "The rest.", "x-slow:/utf-8": "The rest.", "x-slow:/list": "third"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			u := start(t)
			u.replace(slow(release))
			u.serve.SetDelay(time.Millisecond)
			r := u.request(http.MethodPost, "/go", strings.NewReader(url.Values{"url": {name}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Origin", u.server.URL)
			resp, err := u.http.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			until(t, resp.Body, "first", "second")
			close(release)
			until(t, resp.Body, rest, "</html>")
		})
	}
}

// slow returns a loader of a scheme whose responses have two lines, and a third after the release.
func slow(release <-chan struct{}) fetch.Loader {
	return func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-slow", Ops: []fetch.Op{fetch.OpGet, fetch.OpList}, Driver: fetch.DriverFunc(
			func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
				late := func() (int, error) { <-release; return 0, io.EOF }
				resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindObject, ContentType: "text/plain", Size: -1},
					Body: io.NopCloser(io.MultiReader(strings.NewReader("The first\nThe second\n"), readFunc(late), strings.NewReader("The rest.\n")))}
				switch req.URL.Path() {
				case "/utf-8":
					resp.ContentType += "; charset=utf-8"
				case "/list":
					resp.Kind = fetch.KindListing
					resp.Parse = func(io.Reader) iter.Seq2[fetch.Entry, error] {
						return func(yield func(fetch.Entry, error) bool) {
							for _, name := range []string{"first", "second", "third"} {
								if name == "third" {
									<-release
								}
								if !yield(fetch.Entry{Name: name, Kind: fetch.EntryObject, Size: -1}, nil) {
									return
								}
							}
						}
					}
				}
				return resp, nil
			})})
	}
}

type readFunc func() (int, error)

func (f readFunc) Read([]byte) (int, error) { return f() }

func TestTruncatedContentIsReported(t *testing.T) {
	t.Parallel()
	f := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"a.txt": {Data: bytes.Repeat([]byte("line\n"), 10000)}}})
	u := start(t)
	f.Arm(servers.Failure{Fault: servers.Cut, On: "RETR", After: 20000})
	u.open("ftp://"+f.Addr+"/a.txt").want(t, http.StatusOK, "line", "Incomplete:")
}

// drivers returns a loader of test schemes: x-many is a listing of the given number of entries,
// x-big a body of the given size.
func drivers(t *testing.T) fetch.Loader {
	return func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-many", Ops: []fetch.Op{fetch.OpGet, fetch.OpList}, Driver: fetch.DriverFunc(
			func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
				n := 0
				fmt.Sscanf(req.URL.Path(), "%d", &n)
				resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: -1}}
				driver.SetParts(resp, parts(n), nil)
				return resp, nil
			})})
		reg.Register(fetch.Scheme{Name: "x-big", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
				n := int64(0)
				fmt.Sscanf(req.URL.Path(), "%d", &n)
				kind := "application/zip"
				if req.URL.String() == "x-big:text" || strings.HasSuffix(req.URL.Path(), "t") {
					kind = "text/plain"
				}
				return &fetch.Response{Meta: fetch.Meta{ContentType: kind, Size: n}, Body: io.NopCloser(io.LimitReader(letters{}, n))}, nil
			})})
	}
}

func parts(n int) iter.Seq2[driver.Part, error] {
	return func(yield func(driver.Part, error) bool) {
		for i := range n {
			name := fmt.Sprintf("entry %06d", n-i)
			e := fetch.Entry{Name: name, URL: uri.MustParse(fmt.Sprintf("x-many:%d", i)), Size: int64(i), Rel: "item"}
			if !yield(driver.Part{Text: []byte(name + "\n"), Entries: []fetch.Entry{e}}, nil) {
				return
			}
		}
	}
}

// letters is an endless reader.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLongListings(t *testing.T) {
	t.Parallel()
	u := start(t, func(o *serve.Options, _ *fetch.Options) {})
	u.replace(drivers(t))
	for _, entries := range []int{5_000, 60_000} {
		t.Run(fmt.Sprint("list of ", entries), func(t *testing.T) {
			if entries > 5_000 {
				fetchtest.Long(t)
			}
			p := u.open(fmt.Sprint("x-many:", entries))
			p.want(t, http.StatusOK, fmt.Sprint(entries, " entries"))
			if list := u.get(p.url + "&layout=list&sort=name"); !strings.Contains(list.text, `<li class="entry`) || strings.Contains(list.text, "<table") ||
				!strings.Contains(list.text, "layout=list&amp;order=desc") {
				t.Errorf("the list is not sorted as a list: %.2000s", list.text)
			}
		})
	}
	p := u.open("x-many:50010")
	p.want(t, http.StatusOK, "50010 entries")
	// The first maxHeld entries are sorted; the others follow unsorted.
	text := u.get(p.url + "&sort=name").text
	const part = 10_000 // of some megabytes
	first, last := page{text: text[:part]}.names(), page{text: text[len(text)-part:]}.names()
	if !strings.HasPrefix(first, "entry 000011 entry 000012") || !strings.HasSuffix(last, "entry 000001") {
		t.Errorf("sorted: %.60s … %s", first, last)
	}
}

func TestProseIsSetInAColumn(t *testing.T) {
	t.Parallel()
	u := start(t)
	sentence := "A pear is a fruit that is eaten in autumn, when it is ripe. "
	for text, want := range map[string]bool{
		strings.Repeat(sentence, 8):                           true,
		strings.Repeat(sentence+"\r\n", 8):                    true,
		"Über: " + strings.Repeat("Die Birne ist süß.\n", 20): true,
		sentence: false, // too short to tell
		strings.Repeat("name      size   date of the file\n", 20):           false,
		strings.Repeat("a\tb c d e f\n", 20):                                false,
		strings.Repeat("  if (pear) { eat(pear); } else { wait(); }\n", 20): false,
		strings.Repeat("+-----+ a box of words |_____|\n", 20):              false,
	} {
		p := u.open("data:text/plain;charset=utf-8," + url.PathEscape(text))
		if got := strings.Contains(p.text, `<pre class="document reading"`); got != want {
			t.Errorf("%.40q is prose: %v", text, got)
		}
	}
	u.open("data:application/json,"+url.PathEscape(strings.Repeat(sentence, 8))).without(t, "document reading")
}

func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	u := start(t)
	u.replace(drivers(t))
	p := u.open("x-big:9000000t")
	p.want(t, http.StatusOK, "Only the first 4.0 MiB are shown.")
	if len(p.text) > 5<<20 {
		t.Errorf("the page has %d bytes", len(p.text))
	}
	u.open("data:,"+strings.Repeat("x", 200<<10)).want(t, http.StatusBadRequest)
}

// TestDownloadsTakeNoMemory downloads more through the server than it may allocate: a gigabyte if
// URLGET_LONG is set.
func TestDownloadsTakeNoMemory(t *testing.T) {
	size := int64(128 << 20)
	if fetchtest.IsLong() {
		size = 1 << 30
	}
	u := start(t)
	u.replace(drivers(t))
	p := u.open(fmt.Sprintf("x-big:%d", size))
	p.want(t, http.StatusOK, "Download the file")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp, err := u.http.Do(u.request(http.MethodGet, p.find(t, "/download?"), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	runtime.ReadMemStats(&after)
	if n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes of memory were taken", used)
	}
}

func TestColumnsWithOneValueAreLeftOut(t *testing.T) {
	t.Parallel()
	same, other := fstest.MapFS{}, fstest.MapFS{}
	for i := range 3 {
		same[fmt.Sprintf("%d.txt", i)] = &fstest.MapFile{Data: make([]byte, i), ModTime: day}
		other[fmt.Sprintf("%d.txt", i)] = &fstest.MapFile{Data: make([]byte, i), ModTime: day.AddDate(0, 0, i)}
	}
	u := start(t)
	p := u.open("ftp://" + ftpd.Start(t, ftpd.Options{Tree: same}).Addr + "/")
	p.want(t, http.StatusOK, ">Size</a>", "All entries:", "Date 1994-12-20 12:00")
	p.without(t, ">Date</a>", `<td class="date">`)
	u.open("ftp://"+ftpd.Start(t, ftpd.Options{Tree: other}).Addr+"/").want(t, http.StatusOK, ">Size</a>", ">Date</a>")
	one := fstest.MapFS{"1.txt": same["1.txt"]}
	u.open("ftp://"+ftpd.Start(t, ftpd.Options{Tree: one}).Addr+"/").want(t, http.StatusOK, ">Size</a>", ">Date</a>")
}
