package member_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/member"
	"github.com/urlget/urlget/fetch/uri"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var modified = time.Date(2026, 3, 4, 5, 6, 8, 0, time.UTC)

// A store is a driver with files by path, and without listings, as in HTTP.
type store struct {
	files    map[string][]byte
	noRanges bool
	requests []string // the operations and paths
}

func (s *store) client(policy *fetch.Policy, o member.Options) *fetch.Client {
	return fetch.New(&fetch.Options{Policy: policy, Fallback: o.Fallback}, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-store", Ops: []fetch.Op{fetch.OpGet, fetch.OpStat}, Ranges: true, Driver: s})
	})
}

func (s *store) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	s.requests = append(s.requests, fmt.Sprint(req.Op, " ", req.URL.URLPath()))
	data, ok := s.files[req.URL.URLPath()]
	if !ok {
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 404, Text: "Not Found"}}
	}
	resp := &fetch.Response{}
	resp.ETag, resp.ContentType = `"v"`, fetch.TypeByName(req.URL.URLPath())
	if r := req.Range; !r.IsZero() && !s.noRanges && r.Offset >= 0 {
		if r.Offset >= int64(len(data)) {
			return nil, &fetch.Error{Code: fetch.ErrRange}
		}
		resp.Total, data = int64(len(data)), data[r.Offset:]
		if r.Length > 0 {
			data = data[:min(r.Length, int64(len(data)))]
		}
		resp.Range = fetch.Range{Offset: r.Offset, Length: int64(len(data))}
	}
	resp.Size, resp.Body = int64(len(data)), io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// A file is a member of an archive made by a test.
type file struct{ name, content string }

func zipOf(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		out, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified})
		if err == nil {
			_, err = io.WriteString(out, f.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), ModTime: modified, Typeflag: tar.TypeReg}
		if isDir := f.name[len(f.name)-1] == '/'; isDir {
			h.Typeflag = tar.TypeDir
		}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = io.WriteString(w, f.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipOf(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func zstdOf(data []byte) []byte {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	defer w.Close()
	return w.EncodeAll(data, nil)
}

// names returns the names in a listing.
func names(t *testing.T, c *fetch.Client, rawURL string) ([]string, error) {
	t.Helper()
	list := []string{}
	for e, err := range c.List(t.Context(), rawURL) {
		if err != nil {
			return list, err
		}
		if e.Kind == fetch.EntryObject && !e.URL.IsAbs() {
			t.Errorf("the entry %q has no URL", e.Name)
		}
		list = append(list, e.Name)
	}
	return list, nil
}

func get(t *testing.T, c *fetch.Client, rawURL string) (string, error) {
	t.Helper()
	content, err := c.ReadAll(t.Context(), rawURL, 64<<20)
	return string(content), err
}

func stat(t *testing.T, c *fetch.Client, rawURL string) (*fetch.Response, error) {
	t.Helper()
	return c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(rawURL)})
}

// wantCode checks the class of an error.
func wantCode(t *testing.T, what string, err error, want fetch.Code) {
	t.Helper()
	if fetch.CodeOf(err) != want {
		t.Errorf("%s: %v, want class %q", what, err, want)
	}
	if e := (*fetch.Error)(nil); err != nil && !errors.As(err, &e) {
		t.Errorf("%s: %T is not an *Error", what, err)
	}
}
