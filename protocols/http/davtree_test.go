package http_test

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/webdav"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
)

// A davTree is a file system of golang.org/x/net/webdav.
type davTree struct {
	webdav.FileSystem
	fs.FS
}

func (d davTree) OpenFile(_ context.Context, name string, _ int, _ os.FileMode) (webdav.File, error) {
	if name = strings.Trim(name, "/"); name == "" {
		name = "."
	}
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	return davFile{File: f}, nil
}

func (d davTree) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	f, err := d.OpenFile(ctx, name, 0, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

type davFile struct {
	io.Writer
	fs.File
}

func (f davFile) Seek(offset int64, whence int) (int64, error) {
	return f.File.(io.Seeker).Seek(offset, whence)
}

func (f davFile) Readdir(count int) (list []fs.FileInfo, err error) {
	entries, err := f.File.(fs.ReadDirFile).ReadDir(count)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, err
}

// A davServer serves the files of an httpd.Handler and, with golang.org/x/net/webdav, their directories.
type davServer struct {
	files http.Handler
	dirs  webdav.Handler

	mu  sync.Mutex
	log []string
}

func newDAVServer(files http.Handler, tree fs.FS) *davServer {
	return &davServer{files: files,
		dirs: webdav.Handler{FileSystem: davTree{FS: tree}, LockSystem: webdav.NewMemLS()}}
}

func (s *davServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.log = append(s.log, r.Method+" "+r.RequestURI)
	s.mu.Unlock()
	switch r.Method {
	case "OPTIONS", "PROPFIND":
		s.dirs.ServeHTTP(w, r)
	default:
		s.files.ServeHTTP(w, r)
	}
}

func (s *davServer) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

// startDAV is startTree for the schemes of WebDAV.
func startDAV(t testing.TB, tree fs.FS, scheme string, o *fetch.Options) fetchtest.Site {
	site := startTree(t, tree, map[bool]string{true: "http/1.1"}[strings.HasSuffix(scheme, "s")], o)
	url := site.URL
	site.URL = func(name string) string {
		_, rest, _ := strings.Cut(url(name), ":")
		return scheme + ":" + rest
	}
	return site
}

func TestConformanceOfWebDAV(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"dav", "davs"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			h := fetchtest.Harness{Options: &fetch.Options{}}
			h.Start = func(t testing.TB, tree fs.FS) fetchtest.Site { return startDAV(t, tree, scheme, h.Options) }
			fetchtest.Run(t, h)
		})
	}
}
