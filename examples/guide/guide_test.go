package guide

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/fetchfs"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/protocols"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree holds the files of the servers.
func tree() fstest.MapFS {
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	z.Create("apple")
	z.Create("pear")
	z.Close()
	at := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	m := fstest.MapFS{}
	for name, text := range map[string]string{"motd": "welcome\n", "fruit/apple.txt": "red\n", "fruit/pear.txt": "green\n",
		"tmp/x": "?", "all.zip": archive.String()} {
		m[name] = &fstest.MapFile{Data: []byte(text), ModTime: at}
	}
	return m
}

// startFTP starts a server for an example.
func startFTP(opts ftpd.Options) *ftpd.Server {
	opts.Tree = tree()
	s, err := ftpd.New(opts)
	if err != nil {
		log.Fatal(err)
	}
	return s
}

func newClient() *fetch.Client { return fetch.New(nil, protocols.All) }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func Example_show() {
	s, err := gopherd.New(gopherd.Options{Tree: tree(), Text: true})
	check(err)
	defer s.Close()
	check(show(context.Background(), os.Stdout, s.URL+"/0/fruit/apple.txt"))
	// Output:
	// text/plain -1
	// red
}

func Example_motd() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	c := newClient()
	defer c.Close()
	fmt.Print(motd(context.Background(), c, s.URL+"/motd"))
	fmt.Println(motd(context.Background(), c, s.URL+"/other"))
	fmt.Println(motd(context.Background(), c, "telnet://h/"))
	// Output:
	// welcome
	// no message today
	// get telnet://h/: URL names an interactive service: telnet is a session: unsupported operation
}

func Example_list() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	c := newClient()
	defer c.Close()
	check(list(context.Background(), c, os.Stdout, s.URL+"/fruit/"))
	// Output:
	// object       4  apple.txt
	// object       6  pear.txt
}

func Example_usage() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	c := newClient()
	defer c.Close()
	fmt.Println(usage(context.Background(), c, s.URL+"/"))
	// Output:
	// 4 252 <nil>
}

func Example_contents() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	c := newClient()
	defer c.Close()
	fmt.Println(contents(context.Background(), c, s.URL+"/all.zip"))
	// Output:
	// [apple pear] <nil>
}

func Example_save() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	c := newClient()
	defer c.Close()
	check(save(context.Background(), c, dir, s.URL+"/motd", s.URL+"/fruit/pear.txt"))
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		fmt.Printf("%s: %s", filepath.Base(f), text)
	}
	// Output:
	// motd: welcome
	// pear.txt: green
}

func Example_texts() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	c := newClient()
	defer c.Close()
	fmt.Println(texts(context.Background(), c, s.URL))
	// Output:
	// [fruit/apple.txt fruit/pear.txt] <nil>
}

func Example_gateway() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	c := newClient()
	defer c.Close()
	r := httptest.NewRequestWithContext(context.Background(), "GET", "/motd", nil)
	r.Header.Set("Range", "bytes=3-6")
	w := httptest.NewRecorder()
	gateway(context.Background(), c, s.URL).ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	// Output:
	// 206 come
}

func Example_browser() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	c := newClient()
	defer c.Close()
	resp, err := browser(c).Get(s.URL + "/motd")
	check(err)
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Last-Modified"))
	io.Copy(os.Stdout, resp.Body)
	// Output:
	// 200 OK Mon, 03 Feb 2020 04:05:06 GMT
	// welcome
}

func Example_broken() {
	s, err := gopherd.New(gopherd.Options{Tree: tree(), Items: map[string][]string{"/": {"0Motd\t/motd\t$HOST\t$PORT", "0Old news\t/news\t$HOST\t$PORT"}}})
	check(err)
	defer s.Close()
	c := newClient()
	defer c.Close()
	var out strings.Builder
	check(broken(context.Background(), c, &out, uri.MustParse(s.URL)))
	fmt.Println(strings.ReplaceAll(out.String(), s.URL, "gopher://h"))
	// Output:
	// gopher://h/0/news not found
}

func Example_copyTree() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	c := newClient()
	defer c.Close()
	check(copyTree(context.Background(), c, dir, uri.MustParse(s.URL+"/fruit/")))
	files, _ := filepath.Glob(filepath.Join(dir, "*", "fruit", "*"))
	for _, f := range files {
		fmt.Println(filepath.Base(f))
	}
	// Output:
	// apple.txt
	// pear.txt
}

func Example_record() {
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "motd.warc.gz")
	s := startFTP(ftpd.Options{})
	u := s.URL + "/motd"
	check(record(context.Background(), file, protocols.All, u))
	s.Close()

	a, err := replay.Open(file)
	check(err)
	defer a.Close()
	c := replayed(a, protocols.All)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), u, 1<<20)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// welcome
	// <nil>
}

func Example_withLogins() {
	s := startFTP(ftpd.Options{Users: map[string]string{"joe": "secret"}})
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "netrc")
	check(os.WriteFile(file, []byte("machine ftp.example login joe password other\n"), 0o600))
	c := withLogins(file, func(host string) (string, string) {
		fmt.Println("login for", host)
		return "joe", "secret"
	})
	defer c.Close()
	text, err := c.ReadAll(context.Background(), strings.Replace(s.URL, "ftp://", "ftp://joe@", 1)+"/motd", 0)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// login for 127.0.0.1
	// welcome
	// <nil>
}

func Example_through() {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s by proxy\n", r.RequestURI)
	}))
	defer proxy.Close()
	c, err := through(proxy.URL)
	check(err)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "ftp://ftp.example/pub/motd", 0)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// ftp://ftp.example/pub/motd by proxy
	// <nil>
}

// visited returns the method, the type and the body of a request, and sets a cookie.
func visited(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	http.SetCookie(w, &http.Cookie{Name: "visits", Value: "1", MaxAge: 3600})
	fmt.Fprint(w, r.Method, " ", r.Header.Get("Content-Type"), " ", string(body), r.Header.Get("Cookie"))
}

func Example_post() {
	s := httptest.NewServer(http.HandlerFunc(visited))
	defer s.Close()
	c := newClient()
	defer c.Close()
	text, err := post(context.Background(), c, uri.MustParse(s.URL), `{"name":"pear"}`)
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// POST application/json {"name":"pear"} <nil>
}

func Example_withCookies() {
	s := httptest.NewServer(http.HandlerFunc(visited))
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	for range 2 {
		c, save, err := withCookies(filepath.Join(dir, "cookies.txt"))
		check(err)
		text, err := c.ReadAll(context.Background(), s.URL, 0)
		fmt.Printf("%q %v\n", text, err)
		check(save())
		c.Close()
	}
	// Output:
	// "GET  " <nil>
	// "GET  visits=1" <nil>
}

func Example_trusting() {
	hello := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }
	s := httptest.NewTLSServer(http.HandlerFunc(hello))
	defer s.Close()
	c, err := trusting(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	check(err)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), s.URL, 0)
	fmt.Printf("%s %v\n", text, err)
	_, err = trusting(nil)
	fmt.Println(err)
	// Output:
	// hello <nil>
	// no certificate
}

func Example_watched() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	check(err)
	defer root.Close()
	c := newClient()
	defer c.Close()
	d := &download.Downloader{Client: c, Root: root}
	err = watched(context.Background(), d, s.URL+"/motd", func(done, total int64) {
		if done == total {
			fmt.Println(done, "of", total)
		}
	})
	fmt.Println(err)
	// Output:
	// 8 of 8
	// <nil>
}

// A page of a server that looks like a directory is no directory of an fs.FS.
func TestPagesAreNotDirectories(t *testing.T) {
	s := httptest.NewServer(http.FileServerFS(tree()))
	defer s.Close()
	c := newClient()
	defer c.Close()
	fsys := fetchfs.New(t.Context(), c, s.URL+"/fruit/")
	if text, err := fs.ReadFile(fsys, "pear.txt"); err != nil || string(text) != "green\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := fs.ReadDir(fsys, "."); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

func Example_careful() {
	c := careful()
	defer c.Close()
	for _, rawURL := range []string{"http://www.intranet.example/", "file:///etc/hostname", "http://h:25/"} {
		_, err := c.Get(context.Background(), rawURL)
		fmt.Println(err)
	}
	// Output:
	// get http://www.intranet.example/: refused by policy: no servers of our own
	// get file:///etc/hostname: no driver for scheme: "file" is not registered
	// get http://h:25/: refused by policy: port 25 belongs to another service
}

func Example_untrusting() {
	c := untrusting()
	defer c.Close()
	for _, rawURL := range []string{"http://127.0.0.1/", "http://[::1]/", "http://[::ffff:10.0.0.1]/", "http://169.254.169.254/latest/meta-data/",
		"https://h.example:6379/", "file:///etc/passwd", "ftp://h.example/"} {
		_, err := c.Get(context.Background(), rawURL)
		fmt.Println(err)
	}
	// Output:
	// get http://127.0.0.1/: refused by policy: an untrusted request may not name the private address 127.0.0.1
	// get http://[::1]/: refused by policy: an untrusted request may not name the private address ::1
	// get http://[::ffff:10.0.0.1]/: refused by policy: an untrusted request may not name the private address ::ffff:10.0.0.1
	// get http://169.254.169.254/latest/meta-data/: refused by policy: an untrusted request may not name the private address 169.254.169.254
	// get https://h.example:6379/: refused by policy: port 6379 is not the default of https
	// get file:///etc/passwd: no driver for scheme: "file" is not registered
	// get ftp://h.example/: no driver for scheme: "ftp" is not registered
}

func Example_small() {
	c := small(loadEcho)
	defer c.Close()
	for _, s := range c.Schemes() {
		fmt.Print(s.Name, " ")
	}
	text, err := c.ReadAll(context.Background(), "x-echo:hello", 0)
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// dav davs ftp ftps http https webdav webdavs x-echo hello <nil>
}

func Example_timed() {
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{timed(func(u uri.URI, took time.Duration) {
		fmt.Println(u, took < time.Hour)
	})}}, loadEcho)
	defer c.Close()
	_, err := c.ReadAll(context.Background(), "x-echo:hello", 0)
	check(err)
	_, err = c.ReadAll(context.Background(), "x-echo:a%0Ab", 0)
	fmt.Println(errors.Is(err, fetch.ErrURL))
	// Output:
	// x-echo:hello true
	// true
}

func Example_traffic() {
	s := startFTP(ftpd.Options{})
	defer s.Close()
	var sent, received atomic.Int64
	c := fetch.New(&fetch.Options{Recorder: traffic(&sent, &received)}, protocols.All)
	defer c.Close()
	_, err := c.ReadAll(context.Background(), s.URL+"/motd", 0)
	check(err)
	fmt.Println(sent.Load() > 50, received.Load() > 100)
	// Output:
	// true true
}

func TestTimedIsAMiddleware(t *testing.T) {
	fetchtest.RunMiddleware(t, func() fetch.Middleware { return timed(func(uri.URI, time.Duration) {}) })
}

// A walk continues after a failure and returns the error.
func TestUsageAfterFailure(t *testing.T) {
	s := gopherd.Start(t, gopherd.Options{
		Tree:  fstest.MapFS{"a": {}, "d/b": {}},
		Items: map[string][]string{"/": {"1gone\t/gone\t$HOST\t$PORT"}},
	})
	c := newClient()
	defer c.Close()
	files, _, err := usage(t.Context(), c, s.URL)
	if files != 2 || !errors.Is(err, fetch.ErrNotFound) {
		t.Errorf("%d files, %v", files, err)
	}
	if names, err := contents(t.Context(), c, s.URL+"/9/a"); err == nil || slices.Contains(names, "a") {
		t.Errorf("not an archive: %q, %v", names, err)
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, protocols.All)
	defer c.Close()
	var reqs []*fetch.Request
	for _, text := range []string{"data:,one%20", "data:,two", "unknown:x", "data:,%20three"} {
		u, err := uri.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		reqs = append(reqs, &fetch.Request{URL: u})
	}
	var got bytes.Buffer
	if failed := all(t.Context(), c, reqs, &got); failed != 1 || got.String() != "one two three" {
		t.Errorf("%q, %d failed", got.String(), failed)
	}
}
