package fetchfs_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchfs"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	driver "github.com/urlget/urlget/protocols/file"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gopher"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noProxy(uri.URI) (uri.URI, error) { return uri.URI{}, nil }

func newClient(t *testing.T) *fetch.Client {
	c := fetch.New(&fetch.Options{Proxy: noProxy}, driver.Load, ftp.Load, httpdriver.Load, gopher.Load)
	t.Cleanup(func() { c.Close() })
	return c
}

// archive returns a zip file with many small files and a large one.
func archive(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 50 {
		f, err := w.Create(fmt.Sprintf("small/%d.txt", i))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(f, "file %d", i)
	}
	f, err := w.Create("large.bin")
	if err != nil {
		t.Fatal(err)
	}
	f.Write(random(600_000))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

// sites serves a tree over each scheme that supports ranges, and returns the URLs of its root.
func sites(t *testing.T, tree fstest.MapFS) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, tree); err != nil {
		t.Fatal(err)
	}
	for name, f := range tree {
		os.Chtimes(filepath.Join(dir, name), f.ModTime, f.ModTime)
	}
	web := httptest.NewServer(http.FileServerFS(tree))
	t.Cleanup(web.Close)
	return map[string]string{
		"file": uri.Must(uri.File{Path: filepath.ToSlash(dir)}.URI()).String(),
		"ftp":  ftpd.Start(t, ftpd.Options{Tree: tree}).URL,
		"http": web.URL,
	}
}

func TestRealSchemesAreFileSystems(t *testing.T) {
	t.Parallel()
	names := []string{"a.txt", "dir/b", "dir/deep/c d", "empty"}
	for _, hard := range fetchtest.HardNames {
		if !strings.Contains(hard, `\`) { // fstest rejects such names
			names = append(names, "names/"+hard)
		}
	}
	tree := fstest.MapFS{}
	for _, n := range names {
		tree[n] = file("This is " + n)
	}
	tree["empty"] = file("")
	c := newClient(t)
	for scheme, root := range sites(t, tree) {
		if scheme == "http" {
			continue // has no listings
		}
		if err := fstest.TestFS(fetchfs.New(t.Context(), c, root), names...); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// Files support seeking, as checked by testing/iotest.
func TestFilesSeek(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"doc": {Data: random(200_000), ModTime: stamp}}
	c := newClient(t)
	for scheme, root := range sites(t, tree) {
		f, err := fetchfs.New(t.Context(), c, root).Open("doc")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := iotest.TestReader(f, tree["doc"].Data); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

func TestZipOverEveryScheme(t *testing.T) {
	t.Parallel()
	data := archive(t)
	c := newClient(t)
	for scheme, root := range sites(t, fstest.MapFS{"x.zip": {Data: data, ModTime: stamp}}) {
		f, err := fetchfs.New(t.Context(), c, root).Open("x.zip")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := zip.NewReader(f.(io.ReaderAt), int64(len(data)))
		if err != nil {
			t.Errorf("%s: %v", scheme, err)
			continue
		}
		if err := fstest.TestFS(z, "small/49.txt", "large.bin"); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
		if got, err := fs.ReadFile(z, "large.bin"); err != nil || !bytes.Equal(got, random(600_000)) {
			t.Errorf("%s: large.bin: %d bytes, %v", scheme, len(got), err)
		}
	}
}

// http.FileServerFS serves the files of other protocols, including ranges.
func TestFileServer(t *testing.T) {
	t.Parallel()
	data := random(300_000)
	tree := fstest.MapFS{"a.bin": {Data: data, ModTime: stamp}, "README": file("plain words"), "dir/x.txt": file("x")}
	c := newClient(t)
	for scheme, root := range sites(t, tree) {
		s := httptest.NewServer(http.FileServerFS(fetchfs.New(t.Context(), c, root)))
		t.Cleanup(s.Close)
		for _, tt := range []struct {
			path, header string
			status       int
			want         string
			contentType  string
		}{
			{"/a.bin", "", 200, string(data), "application/octet-stream"},
			{"/a.bin", "bytes=200000-200009", 206, string(data[200_000:200_010]), ""},
			{"/a.bin", "bytes=-5", 206, string(data[299_995:]), ""},
			{"/a.bin", "bytes=300000-", 416, "", ""},
			{"/README", "", 200, "plain words", "text/plain; charset=utf-8"},
			{"/README", "bytes=6-", 206, "words", "text/plain; charset=utf-8"},
			{"/dir/x.txt", "", 200, "x", ""},
			{"/absent", "", 404, "", ""},
		} {
			r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.header != "" {
				r.Header.Set("Range", tt.header)
			}
			resp, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != tt.status || tt.status < 400 && string(body) != tt.want || err != nil {
				t.Errorf("%s: %s %s: %s, %d bytes, %v", scheme, tt.path, tt.header, resp.Status, len(body), err)
			}
			if got := resp.Header.Get("Content-Type"); tt.contentType != "" && got != tt.contentType {
				t.Errorf("%s: %s: Content-Type is %q", scheme, tt.path, got)
			}
		}
	}
}

// A file is served even if the server does not report its size.
func TestUnknownSize(t *testing.T) {
	t.Parallel()
	data := random(100_000)
	for name, tt := range map[string]struct {
		tell   bool // send a validator
		status int
	}{"with a validator": {true, 206}, "without": {false, 206}} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if tt.tell {
				w.Header().Set("ETag", `"v1"`)
			}
			w.Write(data[:50_000])
			w.(http.Flusher).Flush()
			w.Write(data[50_000:])
		}))
		t.Cleanup(web.Close)
		s := httptest.NewServer(http.FileServerFS(fetchfs.New(t.Context(), newClient(t), web.URL)))
		t.Cleanup(s.Close)
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range []struct {
			header   string
			from, to int
			status   int
		}{{"", 0, 100_000, 200}, {"bytes=60000-60009", 60_000, 60_010, 206}} {
			r.Header.Set("Range", span.header)
			resp, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != span.status || !bytes.Equal(body, data[span.from:span.to]) || err != nil {
				t.Errorf("%s: %q: %s, %d bytes, %v", name, span.header, resp.Status, len(body), err)
			}
		}
	}
}

// If selectors are not paths, the files that WalkDir finds can be read.
func TestGopherTree(t *testing.T) {
	t.Parallel()
	s := gopherd.Start(t, gopherd.Options{
		Tree: fstest.MapFS{"fruit/apple.txt": file("an apple"), "fruit/red/cherry": file("a cherry"), "readme.txt": file("read me")},
		Items: map[string][]string{
			"/fruit": {"1back to the start\t\t$HOST\t$PORT", "1here\t/fruit\t$HOST\t$PORT", "0slash/ed\t/readme.txt\t$HOST\t$PORT",
				"1elsewhere\t/\tother.example\t70", "0apple.txt\t/readme.txt\t$HOST\t$PORT", "iwords", "7search\t/find\t$HOST\t$PORT",
				"0A title of its own\t/readme.txt\t$HOST\t$PORT"},
		},
	})
	c := newClient(t)
	fsys := fetchfs.New(t.Context(), c, s.URL)
	got := map[string]string{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			got[name] = "dir"
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		got[name] = string(data)
		return err
	})
	want := map[string]string{".": "dir", "fruit": "dir", "fruit/apple.txt": "an apple", "fruit/red": "dir",
		"fruit/red/cherry": "a cherry", "readme.txt": "read me", "fruit/A title of its own": "read me"}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the walk found %v, %v; want %v", got, err, want)
	}
	// A new FS, which has not read the listings, also opens the file.
	data, err := fs.ReadFile(fetchfs.New(t.Context(), c, s.URL+"/1/fruit"), "red/cherry")
	if err != nil || string(data) != "a cherry" {
		t.Errorf("red/cherry: %q, %v", data, err)
	}
	if _, err := fsys.Open("fruit/pear"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is in no menu: %v", err)
	}
	if _, err := fsys.ReadFile("fruit"); !strings.HasSuffix(fmt.Sprint(err), "is a directory") {
		t.Errorf("a menu reads as a file: %v", err)
	}
	// The listing has no size, and the server sends none.
	if info, err := fsys.Stat("readme.txt"); err != nil || info.Size() != 7 {
		t.Errorf("readme.txt: %v, %v", info, err)
	}
	// A menu can be opened as a directory.
	f, err := fsys.Open("fruit")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		t.Errorf("fruit: %v, %v", info, err)
	}
}

// A lost connection is not visible to the caller.
func TestFilesReconnect(t *testing.T) {
	t.Parallel()
	data := random(500_000)
	s := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"doc": {Data: data, ModTime: stamp}}})
	s.Arm(servers.Failure{Fault: servers.Cut, On: "RETR", After: 200_000})
	if got, err := fs.ReadFile(fetchfs.New(t.Context(), newClient(t), s.URL), "doc"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if s.Struck() != 1 || !slices.ContainsFunc(s.Log(), func(line string) bool { return strings.HasPrefix(line, "REST ") }) {
		t.Errorf("the server failed %d times and heard %q", s.Struck(), s.Log())
	}
}

// An error that is unrelated to directories does not cause a second attempt as a directory.
func TestOpenSendsOneRequest(t *testing.T) {
	t.Parallel()
	asked := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(web.Close)
	if _, err := fetchfs.New(t.Context(), newClient(t), web.URL).Open("x"); !errors.Is(err, fs.ErrPermission) || asked != 1 {
		t.Errorf("error %v after %d requests", err, asked)
	}
}

// Files support seeking, so archive/zip can read an archive without retrieving all of it.
func Example_zip() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	pack, err := os.Create(filepath.Join(dir, "rfc.zip"))
	if err != nil {
		log.Fatal(err)
	}
	w := zip.NewWriter(pack)
	entry, _ := w.Create("rfc1738.txt")
	io.WriteString(entry, "Uniform Resource Locators\n")
	w.Close()
	pack.Close()

	c := fetch.New(nil, driver.Load) // or any other scheme that supports ranges, such as ftp
	defer c.Close()
	f, err := fetchfs.New(context.Background(), c, uri.Must(uri.File{Path: filepath.ToSlash(dir)}.URI()).String()).Open("rfc.zip")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		log.Fatal(err)
	}
	z, err := zip.NewReader(f.(io.ReaderAt), info.Size())
	if err != nil {
		log.Fatal(err)
	}
	text, err := fs.ReadFile(z, "rfc1738.txt")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", text)
	// Output:
	// Uniform Resource Locators
}
