package replay_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
)

// TestContentByDigest replays content by its SHA-256, from captures of the URL at any time, of another
// URL, and from files with and without an index.
func TestContentByDigest(t *testing.T) {
	t.Parallel()
	stated := func(content string) string {
		return fmt.Sprintf("WARC-Payload-Digest: sha256:%x\r\n", sha256.Sum256([]byte(content)))
	}
	records := []string{
		response("http://h.example/a", ok("pear"), id("1"), date(earlier)),
		response("http://h.example/a", ok("plum"), id("2"), date(later)),
		response("http://h.example/other", ok("fig", "Content-Type: text/plain\r\n"), id("3"), date(earlier), stated("fig")),
		record("resource", "ftp://h.example/a", "text/plain", "date", id("4"), date(earlier), stated("date")),
		response("http://h.example/liar", ok("lime"), id("5"), date(earlier), stated("kiwi")),
		response("http://h.example/moved", "HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n", id("6"), date(later)),
	}
	tests := []struct{ url, content, want string }{
		{"http://h.example/a", "pear", "pear"},
		{"http://h.example/a", "plum", "plum"},
		{"http://h.example/a", "fig", "fig"},
		{"http://h.example/a", "date", "date"},
		{"gopher://h.example/0/a", "date", "date"},
		{"http://h.example/moved", "fig", "fig"},
		{"http://h.example/a", "kiwi", "! not_found"},
		{"http://h.example/a", "lime", "! not_found"}, // it has another URL, and no record states its digest
		{"http://h.example/none", "none", "! not_found"},
	}
	for _, tt := range tests {
		opts := replay.Options{SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(tt.content)))}
		for name, c := range map[string]*fetch.Client{
			"scanned": client(t, opts, records...),
			"indexed": clientOf(t, opts, writeIndexed(t, unchanged, records...)),
		} {
			if got := get(c, getRequest(tt.url)); got != tt.want {
				t.Errorf("%s, %s of %s: %q, want %q", name, tt.content, tt.url, got, tt.want)
			}
		}
	}
	c := client(t, replay.Options{SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("fig")))}, records...)
	part := getRequest("http://h.example/a")
	part.Range = fetch.Range{Offset: 1, Length: 1}
	if got := get(c, part); got != "i" {
		t.Errorf("a range: %q", got)
	}
	if got := get(client(t, replay.Options{SHA256: "xyz"}, records...), part); got != "! malformed_request" {
		t.Errorf("not a digest: %q", got)
	}
}

func TestDigestedCapturesAreBounded(t *testing.T) {
	t.Parallel()
	const u = "http://h.example/a"
	for n, want := range map[int]string{99: "pear", 100: "! not_found"} {
		records := []string{response(u, ok("pear"), id("first"), date(earlier))}
		first, err := time.Parse(time.RFC3339, later)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			at := first.Add(time.Duration(i) * time.Second).Format(time.RFC3339)
			records = append(records, response(u, ok("plum"), id(fmt.Sprint(i)), date(at)))
		}
		c := client(t, replay.Options{SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("pear")))}, records...)
		if got := get(c, getRequest(u)); got != want {
			t.Errorf("%d later captures: %q, want %q", n, got, want)
		}
	}
}
