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
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// encode returns content in a content coding; "raw" is deflate without the
// zlib header.
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

// serveCoded serves octets with a Content-Encoding.
func serveCoded(t testing.TB, coding string, octets []byte) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		w.Header().Set("ETag", `"t"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(octets)))
		w.Write(octets)
	})
}

var codings = map[string]string{"gzip": "gzip", "deflate": "deflate", "raw": "deflate", "br": "br", "zstd": "zstd"}

func TestCompressed(t *testing.T) {
	t.Parallel()
	content := []byte(strings.Repeat("all work and no play ", 20000))
	c := newClient(t, nil, urlhttp.Options{Compressed: true})
	for name, coding := range codings {
		octets := encode(t, name, content)
		body, resp, err := get(t, c, serveCoded(t, coding, octets))
		if err != nil || body != string(content) || resp.Size != -1 || resp.ETag != `W/"t"` {
			t.Errorf("%s: %d octets of %d, size %d, tag %s, %v", name, len(body), len(content), resp.Size, resp.ETag, err)
		}
		if _, _, err := get(t, c, serveCoded(t, coding, nil)); err != nil {
			t.Errorf("%s: empty body: %v", name, err)
		}
		if _, _, err = get(t, c, serveCoded(t, coding, octets[:len(octets)-5])); fetch.CodeOf(err) != fetch.ErrTruncated {
			t.Errorf("%s: without its last octets: %v, want ErrTruncated", name, err)
		}
		if _, _, err = get(t, c, serveCoded(t, coding, octets[:1])); err == nil {
			t.Errorf("%s: the first octet alone was accepted", name)
		}
		if _, _, err = get(t, c, serveCoded(t, coding, append(octets[:len(octets):len(octets)], "more than there should be"...))); fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("%s: with more behind it: %v, want ErrProtocol", name, err)
		}
		if _, _, err = get(t, c, serveCoded(t, coding, bytes.Repeat([]byte{0xff}, 100))); fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("%s: garbage: %v, want ErrProtocol", name, err)
		}
	}
}

func TestStackedCodings(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil, urlhttp.Options{Compressed: true})
	octets := encode(t, "br", encode(t, "gzip", []byte("twice")))
	if body, _, err := get(t, c, serveCoded(t, "x-gzip, identity, BR", octets)); err != nil || body != "twice" {
		t.Errorf("%q, %v", body, err)
	}
	for _, coding := range []string{"compress", "gzip, compress", "gzip,gzip,gzip,gzip,gzip"} {
		if body, resp, err := get(t, c, serveCoded(t, coding, octets)); err != nil || body != string(octets) || resp.Size != int64(len(octets)) {
			t.Errorf("%s: %d octets, %v; want those that were sent", coding, len(body), err)
		}
	}
}

// TestCodingNotAskedFor leaves content as it is sent.
func TestCodingNotAskedFor(t *testing.T) {
	t.Parallel()
	octets := encode(t, "gzip", []byte("content"))
	u := serveCoded(t, "gzip", octets)
	for name, req := range map[string]*fetch.Request{
		"by default":       {},
		"caller asked":     {Header: map[string][]string{"Accept-Encoding": {"gzip"}}},
		"for a whole part": {Range: fetch.Range{Offset: 0, Length: 1000}},
	} {
		req.URL = uri.MustParse(u)
		c := newClient(t, nil, urlhttp.Options{Compressed: name != "by default"})
		if body, resp, err := do(t, c, req); err != nil || body != string(octets) || resp.Size != int64(len(octets)) || resp.ETag != `"t"` {
			t.Errorf("%s: %q, %v", name, body, err)
		}
	}
}

// TestBombs bounds what is decoded, in both ways of reading.
func TestBombs(t *testing.T) {
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
				t.Errorf("%s: %d octets, %v; want at most 1 MiB and ErrTooLarge", name, n, err)
			}
		}
	}
}
