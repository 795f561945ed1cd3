package replay_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
)

// blockDigest returns the WARC-Block-Digest field for a block.
func blockDigest(block string) string {
	return fmt.Sprintf("WARC-Block-Digest: sha256:%x\r\n", sha256.Sum256([]byte(block)))
}

// Content that was changed in an archive is never replayed without an error.
func TestChangedContent(t *testing.T) {
	t.Parallel()
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npear\r\n0\r\n\r\n"
	const byClose = "HTTP/1.0 200 OK\r\n\r\npear"
	payload := func(s string) string { return strings.Replace(blockDigest(s), "Block", "Payload", 1) }
	const web, ftp = "http://h.example/a", "ftp://h.example/a"
	const revisit = "WARC-Refers-To: <urn:1>\r\n"
	tests := []struct {
		name, url string
		rng       fetch.Range
		records   string // contains "pear", of which the test changes a letter
		want      string
	}{
		{"Content-Length", web, fetch.Range{}, response(web, ok("pear"), blockDigest(ok("pear"))), "pea! protocol"},
		{"payload", web, fetch.Range{}, response(web, ok("pear"), payload("pear")), "pea! protocol"},
		{"payload of chunks", web, fetch.Range{}, response(web, chunked, payload("pear")), "pea! protocol"},
		{"payload with its chunks", web, fetch.Range{}, response(web, chunked, payload("4\r\npear\r\n0\r\n\r\n")), "pea! protocol"},
		{"payload of a resource", ftp, fetch.Range{}, record("resource", ftp, "text/plain", "pear", payload("pear")), "pea! protocol"},
		{"chunks", web, fetch.Range{}, response(web, chunked, blockDigest(chunked)), "pea! protocol"},
		{"body to the end of the record", web, fetch.Range{}, response(web, byClose, blockDigest(byClose)), "pea! protocol"},
		{"suffix of a body", web, fetch.Range{Offset: 2}, response(web, ok("pear"), blockDigest(ok("pear"))), "a! protocol"},
		{"a revisit", web, fetch.Range{}, response("http://h.example/b", ok("pear"), id("1"), blockDigest(ok("pear"))) +
			record("revisit", web, "application/http; msgtype=response", ok("")[:len(ok(""))-5]+"4\r\n\r\n", revisit), "pea! protocol"},
		{"a resource", ftp, fetch.Range{}, record("resource", ftp, "text/plain", "pear", blockDigest("pear")), "pea! protocol"},
		{"suffix of a resource", ftp, fetch.Range{Offset: 2}, record("resource", ftp, "text/plain", "pear", blockDigest("pear")), "a! protocol"},
	}
	for _, tt := range tests {
		c := client(t, replay.Options{}, string(bytes.Replace([]byte(tt.records), []byte("pear"), []byte("peat"), 1)))
		req := getRequest(tt.url)
		req.Range = tt.rng
		if got := get(c, req); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		unchangedClient := client(t, replay.Options{}, tt.records)
		if got, want := get(unchangedClient, req), "pear"[tt.rng.Offset:]; got != want {
			t.Errorf("%s, unchanged: got %q, want %q", tt.name, got, want)
		}
	}
}

// If a record has no digest, the checksum of its gzip member is verified.
func TestWrongChecksum(t *testing.T) {
	t.Parallel()
	const target = "ftp://h.example/a"
	file := zipped(t, record("resource", target, "text/plain", "pear"))
	file[len(file)-8] ^= 1
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := get(clientOf(t, replay.Options{}, path), getRequest(target)); got != "pea! protocol" {
		t.Errorf("got %q", got)
	}
}

// A response head is never returned as content, even if damage hides the type of a record.
func TestRevisitOfUnknownRecordType(t *testing.T) {
	t.Parallel()
	c := client(t, replay.Options{}, record("resqonse", "http://h.example/a", "application/http; msgtype=response", ok("pear"), id("1")),
		record("revisit", "http://h.example/b", "application/http; msgtype=response", ok("pear")[:len(ok("pear"))-4], "WARC-Refers-To: <urn:1>\r\n"))
	if got := get(c, getRequest("http://h.example/b")); got != "! protocol" {
		t.Errorf("got %q", got)
	}
}
