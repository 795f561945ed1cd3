package replay_test

import (
	"bytes"
	"compress/gzip"
	"testing"

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
