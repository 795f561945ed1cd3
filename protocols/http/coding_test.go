package http_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// encode returns content in a content coding; "raw" is deflate without the zlib header.
func encode(t testing.TB, coding string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, _ = flate.NewWriter(&b, 6)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	default:
		return content
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serveCoded serves bytes with a Content-Encoding.
func serveCoded(t testing.TB, coding string, coded []byte) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		w.Header().Set("ETag", `"t"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(coded)))
		w.Write(coded)
	})
}

var codings = map[string]string{"gzip": "gzip", "deflate": "deflate", "raw": "deflate", "br": "br", "zstd": "zstd"}

func TestCompressed(t *testing.T) {
	t.Parallel()
	content := []byte(strings.Repeat("all work and no play ", 20000))
	c := newClient(t, nil, urlhttp.Options{Compressed: true})
	for name, coding := range codings {
		coded := encode(t, name, content)
		body, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(serveCoded(t, coding, coded))})
		if err != nil || body != string(content) || resp.Size != -1 || resp.ETag != `W/"t"` {
			t.Errorf("%s: %d bytes of %d, size %d, tag %s, %v", name, len(body), len(content), resp.Size, resp.ETag, err)
		}
		if _, err := drive.Get(t, c, serveCoded(t, coding, nil)); err != nil {
			t.Errorf("%s: empty body: %v", name, err)
		}
		if _, err = drive.Get(t, c, serveCoded(t, coding, coded[:len(coded)-5])); fetch.CodeOf(err) != fetch.ErrTruncated {
			t.Errorf("%s: without its last bytes: %v, want ErrTruncated", name, err)
		}
		if _, err = drive.Get(t, c, serveCoded(t, coding, coded[:1])); fetch.CodeOf(err) != fetch.ErrTruncated {
			t.Errorf("%s: the first byte alone: %v, want ErrTruncated", name, err)
		}
		if _, err = drive.Get(t, c, serveCoded(t, coding, []byte("text"))); name == "gzip" && fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("%s: text shorter than a header: %v, want ErrProtocol", name, err)
		}
		if _, err = drive.Get(t, c, serveCoded(t, coding, bytes.Repeat([]byte{0xff}, 100))); fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("%s: garbage: %v, want ErrProtocol", name, err)
		}
	}
}

// TestSurplusAfterCoding checks data after the end of an encoded stream. They are ignored, as in browsers,
// up to maxEmptyCoding. The decoders of brotli and zstd refuse them.
func TestSurplusAfterCoding(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil, urlhttp.Options{Compressed: true})
	for name, coding := range codings {
		coded := encode(t, name, []byte("content"))
		for _, more := range []string{"\x00", "\r\n", "more than there should be", strings.Repeat("\x00", 100_000)} {
			body, err := drive.Get(t, c, serveCoded(t, coding, append(coded[:len(coded):len(coded)], more...)))
			strict := name == "br" || name == "zstd"
			if strict != (err != nil) || body != "content" {
				t.Errorf("%s, then %.20q: %q, %v", name, more, body, err)
			}
		}
		endless := append(coded[:len(coded):len(coded)], make([]byte, 2<<20)...)
		if _, err := drive.Get(t, c, serveCoded(t, coding, endless)); fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("%s, then 2 MiB: %v, want ErrProtocol", name, err)
		}
	}
	member := encode(t, "gzip", []byte("content"))
	for _, cut := range []int{1, 5, len(member) - 1} { // of a second member
		if _, err := drive.Get(t, c, serveCoded(t, "gzip", append(member[:len(member):len(member)], member[:cut]...))); fetch.CodeOf(err) != fetch.ErrTruncated {
			t.Errorf("%d bytes of a second member: %v, want ErrTruncated", cut, err)
		}
	}
}

func TestStackedCodings(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil, urlhttp.Options{Compressed: true})
	coded := encode(t, "br", encode(t, "gzip", []byte("twice")))
	drive.Gets(t, c, serveCoded(t, "x-gzip, identity, BR", coded), "twice")
	for inner, first := range codings {
		for outer, second := range codings {
			u := serveCoded(t, first+", "+second, encode(t, outer, encode(t, inner, []byte("twice"))))
			if body, err := drive.Get(t, c, u); err != nil || body != "twice" {
				t.Errorf("%s in %s: %q, %v", inner, outer, body, err)
			}
		}
	}
	for _, coding := range []string{"compress", "gzip, compress", "gzip,gzip,gzip,gzip,gzip"} {
		if body, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(serveCoded(t, coding, coded))}); err != nil || body != string(coded) || resp.Size != int64(len(coded)) {
			t.Errorf("%s: %d bytes, %v; want those that were sent", coding, len(body), err)
		}
	}
}

// TestUnrequestedCoding checks that an unrequested coding is not removed.
func TestUnrequestedCoding(t *testing.T) {
	t.Parallel()
	coded := encode(t, "gzip", []byte("content"))
	u := serveCoded(t, "gzip", coded)
	for name, req := range map[string]*fetch.Request{
		"by default":       {},
		"caller asked":     {Header: map[string][]string{"Accept-Encoding": {"gzip"}}},
		"for a whole part": {Range: fetch.Range{Offset: 0, Length: 1000}},
	} {
		req.URL = uri.MustParse(u)
		c := newClient(t, nil, urlhttp.Options{Compressed: name != "by default"})
		if body, resp, err := drive.Do(t, c, req); err != nil || body != string(coded) || resp.Size != int64(len(coded)) || resp.ETag != `"t"` {
			t.Errorf("%s: %q, %v", name, body, err)
		}
	}
}

// TestUnrequestedCodingOfPage checks that a coding is removed from documents that links are read from,
// also by HEAD, and not from compressed files.
func TestUnrequestedCodingOfPage(t *testing.T) {
	t.Parallel()
	coded := string(encode(t, "gzip", []byte("<a href=b>")))
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		io.WriteString(w, coded)
	})
	c := newClient(t, nil, urlhttp.Options{})
	for target, want := range map[string]string{
		"/?type=text/html":                   "<a href=b>",
		"/a.html?type=Text/HTML%3Bcharset=x": "<a href=b>",
		"/?type=application/xhtml%2Bxml":     "<a href=b>",
		"/?type=text/css":                    "<a href=b>",
		"/?type=application/octet-stream":    coded,
		"/a.tar.gz?type=application/x-gzip":  coded,
		"/a.html.gz?type=text/html":          coded,
	} {
		body, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(u + target)})
		if err != nil || body != want || resp.Decoded != (want != coded) {
			t.Errorf("%s: %q, decoded %v, %v", target, body, resp.Decoded, err)
		}
	}
	own := &fetch.Request{URL: uri.MustParse(u + "/?type=text/html"), Header: map[string][]string{"Accept-Encoding": {"gzip"}}}
	if body, _, err := drive.Do(t, c, own); err != nil || body != coded {
		t.Errorf("the caller decodes: %q, %v", body, err)
	}
}

// TestSurplusBytes checks bodies that exceed Content-Length or the range. The client must not
// return the surplus.
func TestSurplusBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	o := &fetch.Options{Policy: &fetch.Policy{MaxSize: 50_000}}
	tests := []struct {
		name, answer string
		compressed   bool
		most         int
		code         fetch.Code
	}{
		{"a length above the limit", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + long, false, 0, fetch.ErrTooLarge},
		{"no length, above the limit", "HTTP/1.1 200 OK\r\n\r\n" + long, false, 50_000, fetch.ErrTooLarge},
		{"chunks above the limit", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" + long + "\r\n0\r\n\r\n", false, 50_000, fetch.ErrTooLarge},
		{"decoded above the limit", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + string(encode(t, "gzip", []byte(long))), true, 50_000, fetch.ErrTooLarge},
		{"a part in chunks", "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 10-19/200000\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" +
			long + "\r\n0\r\n\r\n", false, 10, fetch.ErrProtocol},
	}
	for _, tt := range tests {
		for _, way := range []string{"Read", "WriteTo"} {
			req := &fetch.Request{URL: uri.MustParse(raw(t, tt.answer, false))}
			if tt.code == fetch.ErrProtocol {
				req.Range = fetch.Range{Offset: 10, Length: 10}
			}
			resp, err := newClient(t, o, urlhttp.Options{Compressed: tt.compressed}).Do(t.Context(), req)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			var got bytes.Buffer
			if way == "Read" {
				_, err = io.Copy(struct{ io.Writer }{&got}, struct{ io.Reader }{resp.Body})
			} else {
				_, err = io.Copy(struct{ io.Writer }{&got}, resp.Body)
			}
			resp.Body.Close()
			if got.Len() != tt.most || fetch.CodeOf(err) != tt.code {
				t.Errorf("%s, %s: %d bytes, %v; want %d and class %q", tt.name, way, got.Len(), err, tt.most, tt.code)
			}
		}
	}
}

// TestCodingsWithoutContent checks endless encoded bodies without content, to which the size limit
// does not apply.
func TestCodingsWithoutContent(t *testing.T) {
	t.Parallel()
	empty := encode(t, "gzip", nil)
	tests := map[string]struct {
		coding string
		begin  string
		piece  string
	}{
		"members of gzip":       {"gzip", "", string(empty)},
		"a comment in gzip":     {"gzip", "\x1f\x8b\x08\x10\x00\x00\x00\x00\x00\xff", "y"},
		"blocks of deflate":     {"deflate", "", "\x00\x00\x00\xff\xff"},
		"blocks of zlib":        {"deflate", "\x78\x9c", "\x00\x00\x00\xff\xff"},
		"metadata of brotli":    {"br", "\x0c", "\x06"},
		"frames of zstd":        {"zstd", "", "\x50\x2a\x4d\x18\x04\x00\x00\x00skip"},
		"gzip, coded in brotli": {"gzip, br", "", string(encode(t, "br", bytes.Repeat(empty, 1<<20/len(empty)*2)))},
	}
	c := newClient(t, nil, urlhttp.Options{Compressed: true})
	for name, tt := range tests {
		pieces := []byte(strings.Repeat(tt.piece, max(1, 10_000/len(tt.piece))))
		u := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", tt.coding)
			io.WriteString(w, tt.begin)
			for {
				if _, err := w.Write(pieces); err != nil {
					return
				}
			}
		})
		if body, err := drive.Get(t, c, u); fetch.CodeOf(err) != fetch.ErrProtocol || body != "" || !strings.Contains(err.Error(), "coding without content") {
			t.Errorf("%s: %d bytes, %v; want ErrProtocol", name, len(body), err)
		}
	}
}

// TestDecompressionBombs limits decoded content, for Read and WriteTo.
func TestDecompressionBombs(t *testing.T) {
	t.Parallel()
	bomb := make([]byte, 8<<20)
	c := newClient(t, &fetch.Options{Policy: &fetch.Policy{MaxSize: 1 << 20}}, urlhttp.Options{Compressed: true})
	for name, coding := range codings {
		u := serveCoded(t, coding, encode(t, name, bomb))
		for _, read := range []func(io.Reader) (int64, error){
			func(r io.Reader) (int64, error) { return io.Copy(io.Discard, struct{ io.Reader }{r}) },
			func(r io.Reader) (int64, error) { return io.Copy(struct{ io.Writer }{io.Discard}, r) },
		} {
			resp, err := c.Get(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			n, err := read(resp.Body)
			resp.Body.Close()
			if !errors.Is(err, fetch.ErrTooLarge) || n > 1<<20 {
				t.Errorf("%s: %d bytes, %v; want at most 1 MiB and ErrTooLarge", name, n, err)
			}
		}
	}
}
