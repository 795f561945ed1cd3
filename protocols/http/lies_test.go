package http_test

import (
	"bytes"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// A lyingServer serves content with ranges, and states a digest of other content.
type lyingServer struct {
	content []byte
	state   func(http.Header, []byte) // sets the field for a body
	cut     int                       // the first response ends after this many bytes
	ranged  chan struct{}             // if not nil, the whole resource is sent once it is closed by a range
	requests,
	partial atomic.Int32
}

func (s *lyingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.requests.Add(1)
	w.Header().Set("ETag", `"1"`)
	w.Header().Set("Accept-Ranges", "bytes")
	body := s.content
	if text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
		from, to, _ := strings.Cut(text, "-")
		begin, _ := strconv.Atoi(from)
		end, err := strconv.Atoi(to)
		if err != nil || end >= len(body) {
			end = len(body) - 1
		}
		body = body[begin : end+1]
		w.Header().Set("Content-Range", "bytes "+from+"-"+strconv.Itoa(end)+"/"+strconv.Itoa(len(s.content)))
	}
	s.state(w.Header(), body)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if len(body) < len(s.content) {
		if s.partial.Add(1) == 1 && s.ranged != nil {
			close(s.ranged)
		}
		w.WriteHeader(http.StatusPartialContent)
	}
	if s.cut > 0 && n == 1 {
		w.Write(body[:s.cut])
		panic(http.ErrAbortHandler)
	}
	if s.ranged != nil && len(body) == len(s.content) {
		w.Write(body[:1])
		http.NewResponseController(w).Flush()
		select {
		case <-s.ranged:
		case <-r.Context().Done():
		}
		body = body[1:]
	}
	w.Write(body)
}

// TestLies has servers that state a digest of other content, in each field, for each way in which a
// file is assembled. Another content is never saved as verified: a field that a range cannot have
// (Content-MD5, x-amz-checksum) is ignored there, and then nothing counts as a proof.
func TestLies(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("all work and no play "), 110_000) // has two segments
	otherLong := bytes.Clone(long)
	otherLong[1]++
	const size = 21 * 5000
	wholeOnly := []string{"Content-MD5", "sha256", "sha1", "crc32", "crc32c", "crc64nvme"} // ignored for ranges
	ways := []struct {
		name string
		cut  int
		opts download.Options
		runs int
		have []byte // file.bin before
		part bool   // every response is a range
	}{
		{name: "single", runs: 1},
		{name: "resumed", cut: size / 2, runs: 1},
		{name: "resumed by another run", cut: size / 2, runs: 2, opts: download.Options{Exists: download.Resume, Retry: retry.Policy{Tries: 1}}},
		{name: "a file of another program", runs: 1, opts: download.Options{Exists: download.Resume}, have: long[:2*size], part: true},
		{name: "segmented", runs: 1, opts: download.Options{Segments: 3}},
	}
	c := newClient(t, nil, urlhttp.Options{})
	for field, state := range statements {
		for _, way := range ways {
			for _, lie := range []bool{false, true} {
				t.Run(field+"/"+way.name+"/"+map[bool]string{false: "true", true: "lie"}[lie], func(t *testing.T) {
					t.Parallel()
					content, other := long, otherLong
					if way.opts.Segments == 0 {
						n := size + 2*len(way.have)
						content, other = content[:n], other[:n]
					}
					about := content
					if lie {
						about = other
					}
					name, value := state(about)
					s := &lyingServer{content: content, cut: way.cut, state: func(h http.Header, body []byte) {
						h.Set(name, value)
						if field == "Content-Digest" && !lie {
							h.Set(state(body))
						}
					}}
					if way.opts.Segments > 0 {
						s.ranged = make(chan struct{})
					}
					dir := t.TempDir()
					root, err := os.OpenRoot(dir)
					if err != nil {
						t.Fatal(err)
					}
					defer root.Close()
					if way.have != nil {
						if err := root.WriteFile("file.bin", way.have, 0o600); err != nil {
							t.Fatal(err)
						}
					}
					d := &download.Downloader{Client: c, Root: root}
					defer d.Flush()
					target := newServer(t, s, "").URL + "/file.bin"
					opts := way.opts
					if opts.Retry.Tries == 0 {
						opts.Retry.Wait = time.Millisecond
					}
					for range way.runs - 1 {
						if _, err := d.Get(t.Context(), target, "file.bin", &opts); fetch.CodeOf(err) != fetch.ErrTruncated {
							t.Fatalf("the first run: %v", err)
						}
					}
					res, err := d.Get(t.Context(), target, "file.bin", &opts)
					got, _ := os.ReadFile(dir + "/file.bin")
					if way.name != "single" && s.partial.Load() == 0 {
						t.Error("no range was requested")
					}
					ignored := way.part && slices.Contains(wholeOnly, field)
					if lie && !ignored {
						if fetch.CodeOf(err) != fetch.ErrChecksum || !bytes.Equal(got, way.have) {
							t.Errorf("%v, %d bytes", err, len(got))
						}
						return
					}
					if err != nil || !bytes.Equal(got, content) || ignored && res.Proof != nil {
						t.Errorf("%+v, %v, %d bytes", res, err, len(got))
					}
					if field != "Content-Digest" && !ignored && res.Proof == nil {
						t.Error("no proof")
					}
				})
			}
		}
	}
}
