package replay_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/urlget/urlget/archive/replay"
)

// Content is replayed if it lacks the framing or the coding that its head names.
func TestContentWithoutCoding(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("a pear"))
	z.Close()
	const chunked, coded = "Transfer-Encoding: chunked\r\n", "Content-Encoding: gzip\r\n"
	csv := "2024;12\r\n" + strings.Repeat("2024;13\r\n", 2000)
	for _, tt := range []struct{ name, head, content, want string }{
		{"chunks", chunked, "6\r\na pear\r\n0\r\n\r\n", "a pear"},
		{"a chunk extension", chunked, "6;x\r\na pear\r\n0\r\n\r\n", "a pear"},
		{"no chunks", chunked, "a pear", "a pear"},
		{"no chunks, content with digits", chunked, "<6>", "<6>"},
		{"nothing", chunked, "", "! truncated"},
		{"a truncated chunk", chunked, "6\r\na pe", "a pe! truncated"},
		{"a coding", coded, packed.String(), "a pear"},
		{"no coding", coded, "a pear", "a pear"},
		{"no coding, and the length of the coded content", coded + "Content-Length: 2\r\n", "a pear", "a pear"},
		{"no chunks, but a coding", chunked + coded, packed.String(), "a pear"},
		{"no chunks, a number", chunked, "7", "7"},
		{"no chunks, the number 0", chunked, "0\r\n", "0\r\n"},
		{"no chunks, numbers after 0", chunked, "0\r\n1\r\n", "0\r\n1\r\n"},
		{"no chunks, a word", chunked, "abc\r\n", "abc\r\n"},
		{"no chunks, CSV", chunked, "a;b;c\r\n1;2;3\r\n", "a;b;c\r\n1;2;3\r\n"},
		{"no chunks, long CSV", chunked, csv, csv},
		{"an empty content", chunked, "0\r\n\r\n", ""},
		{"an empty content with a trailer", chunked, "0\r\nExpires: 0\r\n\r\n", ""},
		{"a long chunk with an extension", chunked, fmt.Sprintf("%x;x=y\r\n%s\r\n0\r\n\r\n", len(csv), csv), csv},
		{"a damaged chunk", chunked, "4\r\na pear\r\n0\r\n\r\n", "a pe! protocol"},
		{"neither", chunked + coded, "a pear", "a pear"},
	} {
		c := client(t, replay.Options{}, response("http://h.example/", "HTTP/1.1 200 OK\r\n"+tt.head+"\r\n"+tt.content, id("1")),
			record("revisit", "http://h.example/again", "application/http; msgtype=response", "HTTP/1.1 200 OK\r\n"+tt.head+"\r\n", "WARC-Refers-To: <urn:1>\r\n"))
		for _, target := range []string{"http://h.example/", "http://h.example/again"} {
			if got := get(c, getRequest(target)); got != tt.want {
				t.Errorf("%s: %s: got %q, want %q", tt.name, target, got, tt.want)
			}
		}
	}
}

// Brotli and deflate have no fixed start, so a body counts as coded unless it cannot be decoded.
func TestContentWithoutCodingOfAnyStart(t *testing.T) {
	t.Parallel()
	encoders := map[string]func(io.Writer) io.WriteCloser{
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"deflate without a header": func(w io.Writer) io.WriteCloser {
			z, _ := flate.NewWriter(w, flate.BestCompression)
			return z
		},
	}
	texts := []string{
		"<!doctype html><html><body>hello</body></html>", "a", "{}", "x^y", "pear", ";", strings.Repeat("\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0. ", 30),
		strings.Repeat("pears and apples; ", 1000), "\x00asm\x01\x00\x00\x00" + strings.Repeat("\x01\x02\x60", 50),
	}
	for name, encode := range encoders {
		coding, _, _ := strings.Cut(name, " ")
		head := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: " + coding + "\r\n\r\n"
		for _, text := range texts {
			var packed bytes.Buffer
			w := encode(&packed)
			io.WriteString(w, text)
			w.Close()
			cut := packed.String()[:packed.Len()-1]
			for content, want := range map[string]string{packed.String(): text, text: text, cut: ""} {
				got := get(client(t, replay.Options{}, response("http://h.example/", head+content)), getRequest("http://h.example/"))
				if got != want && (want != "" || !strings.HasSuffix(got, "! truncated")) {
					t.Errorf("%s: %.20q: got %.40q, want %.40q", name, content, got, want)
				}
			}
		}
	}
	twice := response("http://h.example/", ok("\x1f\x8b", "Content-Encoding: gzip, br\r\n"))
	if got := get(client(t, replay.Options{}, twice), getRequest("http://h.example/")); got != "! truncated" {
		t.Errorf("a coding that was removed above one that was not: %q", got)
	}
}

// A capture that was requested without a content coding is decoded only on request.
func TestUnrequestedCoding(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("a pear"))
	z.Close()
	records := []string{response("http://h.example/", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+packed.String(), id("1")),
		record("request", "http://h.example/", "application/http; msgtype=request", "GET / HTTP/1.1\r\nAccept-Encoding: identity\r\n\r\n", "WARC-Concurrent-To: <urn:1>\r\n")}
	for compressed, want := range map[bool]string{false: packed.String(), true: "a pear"} {
		if got := get(client(t, replay.Options{Compressed: compressed}, records...), getRequest("http://h.example/")); got != want {
			t.Errorf("Compressed %v: got %q, want %q", compressed, got, want)
		}
	}
}

// A body ends where its record ends, even if Content-Length is smaller or invalid.
func TestBodyEndsWithRecord(t *testing.T) {
	t.Parallel()
	const u, again = "http://h.example/", "http://h.example/again"
	for _, tt := range []struct {
		name, head, content, want string
		size                      int64
	}{
		{"smaller", "Content-Length: 2\r\n", "a pear", "a pear", 6},
		{"zero", "Content-Length: 0\r\n", "a pear", "a pear", 6},
		{"larger", "Content-Length: 9\r\n", "a pear", "a pear! truncated", 9},
		{"negative", "Content-Length: -1\r\n", "a pear", "a pear", 6},
		{"empty", "Content-Length: \r\n", "a pear", "a pear", 6},
		{"not a number", "Content-Length: pear\r\n", "a pear", "a pear", 6},
		{"two different", "Content-Length: 4\r\nContent-Length: 5\r\n", "a pear", "a pear", 6},
		{"two equal", "Content-Length: 6\r\nContent-Length: 6\r\n", "a pear", "a pear", 6},
		{"absent", "", "a pear", "a pear", -1},
		{"with chunks", "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "6\r\na pear\r\n0\r\n\r\n", "a pear", -1},
		{"without a body", "Content-Length: -1\r\n", "", "", 0},
	} {
		c := client(t, replay.Options{}, response(u, "HTTP/1.1 200 OK\r\n"+tt.head+"\r\n"+tt.content, id("1")),
			record("revisit", again, "application/http; msgtype=response", "HTTP/1.1 200 OK\r\n"+tt.head+"\r\n", "WARC-Refers-To: <urn:1>\r\n"))
		for _, target := range []string{u, again} {
			if got := get(c, getRequest(target)); got != tt.want {
				t.Errorf("%s: %s: got %q, want %q", tt.name, target, got, tt.want)
			}
			m, err := c.Stat(t.Context(), getRequest(target))
			if err != nil {
				t.Errorf("%s: %s: %v", tt.name, target, err)
				continue
			}
			if m.Size != tt.size {
				t.Errorf("%s: %s: size %d, want %d", tt.name, target, m.Size, tt.size)
			}
			if length := m.Header.Get("Content-Length"); length != "" && length != fmt.Sprint(tt.size) {
				t.Errorf("%s: %s: Content-Length is %q", tt.name, target, length)
			}
		}
	}
}

// Heads that browsers accept are replayed. A record without a head fails with the reason.
func TestOddHeads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, block, want string }{
		{"identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\npear", "pear"},
		{"two codings", "HTTP/1.1 200 OK\r\nTransfer-Encoding: x-pear, chunked\r\n\r\n4\r\npear\r\n0\r\n\r\n", "pear"},
		{"chunked twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npear\r\n0\r\n\r\n", "pear"},
		{"a line without a colon", "HTTP/1.1 200 OK\r\nrubbish\r\nETag: \"1\"\r\n\r\npear", "pear"},
		{"a continuation line", "HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\n\r\npear", "pear"},
		{"Latin-1 in a name", "HTTP/1.1 200 OK\r\nX-\xe9: 1\r\n\r\npear", "pear"},
		{"a blank in a name", "HTTP/1.1 200 OK\r\nX A: 1\r\n\r\npear", "pear"},
		{"a blank after a name", "HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\npear", "pear"},
		{"NUL in a value", "HTTP/1.1 200 OK\r\nX-A: 1\x002\r\n\r\npear", "pear"},
		{"HTTP/1.0 with chunks", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npear\r\n0\r\n\r\n", "pear"},
		{"HTTP/1.0, chunks and a length", "HTTP/1.0 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npear\r\n0\r\n\r\n", "pear"},
		{"HTTP/1.0, chunks removed", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\npear", "pear"},
		{"ICY with chunks", "ICY 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npear\r\n0\r\n\r\n", "pear"},
		{"ICY", "ICY 200 OK\r\nicy-name: pear\r\n\r\npear", "pear"},
		{"lower case", "http/1.1 200 OK\r\n\r\npear", "pear"},
		{"no version", "HTTP 200 OK\r\n\r\npear", "pear"},
		{"no status", "HTTP/1.1\r\n\r\npear", "pear"},
		{"no reason", "HTTP/1.1 200\r\n\r\npear", "pear"},
		{"only line feeds", "HTTP/1.1 200 OK\nX-A: 1\n\npear", "pear"},
		{"the head ends with the record", "HTTP/1.1 200 OK\r\nX-A: 1", ""},
		{"status 999", "HTTP/1.1 999 Request denied\r\n\r\npear", "! protocol"},
		{"status 1000", "HTTP/1.1 1000 OK\r\n\r\npear", "! protocol"},
		{"no head", "<p>pear", "! protocol"},
		{"nothing", "", "! protocol"},
	} {
		c := client(t, replay.Options{}, response("http://h.example/", tt.block))
		if got := get(c, getRequest("http://h.example/")); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	c := client(t, replay.Options{}, response("http://h.example/", "<p>pear"))
	_, err := c.Get(t.Context(), "http://h.example/")
	if err == nil || !strings.Contains(err.Error(), `damaged archive: damaged at byte 0: expected an HTTP response, found "<p>pear"`) {
		t.Errorf("record without a head: %v", err)
	}
	c = client(t, replay.Options{}, response("http://h.example/", ok("pear"), date("2026-01-01T00:00:00Z")),
		response("http://h.example/", "<p>plum", date("2026-01-02T00:00:00Z")))
	if got := get(c, getRequest("http://h.example/")); got != "pear" {
		t.Errorf("a later record without a head hides the capture: %q", got)
	}
}
