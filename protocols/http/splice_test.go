package http_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// A countingFile counts the calls of ReadFrom.
type countingFile struct {
	*os.File
	asked int
}

func (f *countingFile) ReadFrom(r io.Reader) (int64, error) {
	f.asked++
	return f.File.ReadFrom(r)
}

func newFile(t *testing.T) *countingFile {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &countingFile{File: f}
}

// large is a body that is spliced.
var large = func() []byte {
	var b bytes.Buffer
	for i := range 400_000 {
		fmt.Fprintln(&b, i)
	}
	return b.Bytes()
}()

func TestSplice(t *testing.T) {
	t.Parallel()
	root := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/chunked":
			w.(http.Flusher).Flush()
			w.Write(large)
		case "/small":
			io.WriteString(w, "small")
		default:
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(large))
		}
	})
	c := drive.Client(t, &fetch.Options{}, urlhttp.Load)
	for _, tt := range []struct {
		path    string
		from    int64
		want    []byte
		spliced bool
	}{
		{"/whole", 0, large, true},
		{"/small", 0, []byte("small"), false},
		{"/again", 0, large, true}, // on the same connection
		{"/part", 1_000_000, large[1_000_000:], true},
		{"/chunked", 0, large, false},
		{"/small", 0, []byte("small"), false},
	} {
		req := &fetch.Request{URL: uri.MustParse(root + tt.path), Range: fetch.Range{Offset: tt.from}}
		resp, err := c.Do(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		f := newFile(t)
		n, err := io.Copy(f, resp.Body)
		resp.Body.Close()
		got, _ := os.ReadFile(f.Name())
		if err != nil || n != int64(len(tt.want)) || !bytes.Equal(got, tt.want) {
			t.Errorf("%s: %d bytes copied, %d in the file, %v; want %d", tt.path, n, len(got), err, len(tt.want))
		}
		if (f.asked > 0) != tt.spliced {
			t.Errorf("%s: the kernel was asked %d times", tt.path, f.asked)
		}
	}
}

// TestSpliceAfterOddHeads checks that bytes which arrive with a head that is changed or kept are not overtaken
// by those that the kernel moves.
func TestSpliceAfterOddHeads(t *testing.T) {
	t.Parallel()
	long := "X: " + strings.Repeat("x", 20<<10) + "\r\n"
	for name, head := range map[string]string{
		"HTTP/2":                     "HTTP/2 200 OK\r\n",
		"HTTP/3":                     "HTTP/3 200 OK\r\n",
		"ICY":                        "ICY 200 OK\r\n",
		"HTTP/1.0":                   "HTTP/1.0 200 OK\r\n",
		"HTTP/1.0, long":             "HTTP/1.0 200 OK\r\n" + long,
		"HTTP/2, long":               "HTTP/2 200 OK\r\n" + long,
		"hints":                      "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n",
		"long hints":                 "HTTP/1.1 103 Early Hints\r\n" + long + "\r\nHTTP/1.1 200 OK\r\n",
		"long hints, then ICY":       "HTTP/1.1 103 Early Hints\r\n" + long + "\r\nICY 200 OK\r\n" + long,
		"two informational, then /2": "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/2 200 OK\r\n",
	} {
		for _, method := range []string{"", http.MethodPost} {
			c := drive.Client(t, &fetch.Options{}, urlhttp.Load)
			u := raw(t, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(large), large), false)
			resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(u), Method: method})
			if err != nil {
				t.Errorf("%s %s: %v", name, method, err)
				continue
			}
			f := newFile(t)
			_, err = io.Copy(f, resp.Body)
			resp.Body.Close()
			if got, _ := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, large) {
				t.Errorf("%s %s: %d of %d bytes, %v; the same: %v", name, method, len(got), len(large), err, bytes.Equal(got, large))
			}
		}
	}
}

func TestSpliceFailures(t *testing.T) {
	t.Parallel()
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(large))
	timeouts := &fetch.Options{Timeouts: fetch.Timeouts{Idle: 200 * time.Millisecond, Reply: 10 * time.Second}}
	for _, tt := range []struct {
		name   string
		answer func(net.Conn)
		opts   *fetch.Options
		want   fetch.Code
		text   string
	}{
		{"the connection ends", func(c net.Conn) { io.WriteString(c, head+string(large[:2_000_000])) }, nil, fetch.ErrTruncated, ""},
		{"the connection is reset", func(c net.Conn) {
			io.WriteString(c, head+string(large[:2_000_000]))
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}, nil, fetch.ErrNetwork, ""},
		{"nothing more comes", func(c net.Conn) {
			io.WriteString(c, head+string(large[:2_000_000]))
			io.Copy(io.Discard, c)
		}, timeouts, fetch.ErrNetwork, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := drive.Client(t, tt.opts, urlhttp.Load)
			resp, err := c.Get(t.Context(), respondWith(t, tt.answer)+"/")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			f := newFile(t)
			n, err := io.Copy(f, resp.Body)
			got, _ := os.ReadFile(f.Name())
			if !errors.Is(err, tt.want) || f.asked == 0 {
				t.Errorf("%v (class %q), after %d times", err, fetch.CodeOf(err), f.asked)
			}
			if int64(len(got)) != n || !bytes.HasPrefix(large, got) {
				t.Errorf("%d bytes copied, %d in the file", n, len(got))
			}
		})
	}
}

// TestSpliceToFullDevice expects the error of the file, not of the network.
func TestSpliceToFullDevice(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	c := drive.Client(t, nil, urlhttp.Load)
	resp, err := c.Get(t.Context(), serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(large)))
		w.Write(large)
	})+"/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(full, resp.Body); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v, want that there is no space", err)
	}
}
