//go:build linux

package bench

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/urlget/urlget/fetch"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// zeros serves the number of bytes in the path.
func zeros(b testing.TB) *httptest.Server {
	block := make([]byte, 1<<20)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		left, err := strconv.ParseInt(r.URL.Path[1:], 10, 64)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.FormatInt(left, 10))
		for left > 0 {
			n, err := w.Write(block[:min(left, int64(len(block)))])
			if err != nil {
				return
			}
			left -= int64(n)
		}
	}))
	b.Cleanup(srv.Close)
	return srv
}

// BenchmarkHTTP compares a client of fetch with a bare http.Transport and io.Copy on one server,
// for several sizes of bodies that are saved to a file. Run it with -count to see the variation.
func BenchmarkHTTP(b *testing.B) {
	srv := zeros(b)
	client := fetch.New(nil, urlhttp.Load)
	defer client.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	ways := []struct {
		name string
		get  func(rawURL string, w io.Writer) (int64, error)
	}{
		{"fetch", func(rawURL string, w io.Writer) (int64, error) {
			resp, err := client.Get(context.Background(), rawURL)
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			return io.Copy(w, resp.Body)
		}},
		{"transport", func(rawURL string, w io.Writer) (int64, error) {
			req, err := http.NewRequest(http.MethodGet, rawURL, nil)
			if err != nil {
				return 0, err
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			return io.Copy(w, resp.Body)
		}},
	}
	for _, size := range []int64{10, 64 << 10, 1 << 30} {
		for _, way := range ways {
			b.Run(way.name+"/"+strconv.FormatInt(size, 10), func(b *testing.B) {
				f, err := os.Create(filepath.Join(b.TempDir(), "out"))
				if err != nil {
					b.Fatal(err)
				}
				defer f.Close()
				b.SetBytes(size)
				for b.Loop() {
					if _, err := f.Seek(0, io.SeekStart); err != nil {
						b.Fatal(err)
					}
					if n, err := way.get(srv.URL+"/"+strconv.FormatInt(size, 10), f); err != nil || n != size {
						b.Fatalf("%d bytes, %v", n, err)
					}
				}
			})
		}
	}
}
