package replay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
)

const earlier, later = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"

// A later capture with less content does not hide an earlier one.
func TestCompleteCapturesArePreferred(t *testing.T) {
	t.Parallel()
	const exchange = "application/x-urlget-exchange+json"
	for name, tt := range map[string]struct {
		url  string
		last []string
	}{
		"416 response": {"http://h.example/a", []string{
			response("http://h.example/a", "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */4\r\nContent-Length: 0\r\n\r\n", id("2"), date(later))}},
		"412 response": {"http://h.example/a", []string{
			response("http://h.example/a", "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n", id("2"), date(later))}},
		"truncated response": {"http://h.example/a", []string{
			response("http://h.example/a", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npe", id("2"), date(later), "WARC-Truncated: disconnect\r\n")}},
		"truncated resource": {"ftp://h.example/a", []string{
			record("resource", "ftp://h.example/a", "text/plain", "pe", id("2"), date(later), "WARC-Truncated: disconnect\r\n")}},
		"content not read to its end": {"gopher://h.example/0/a", []string{
			record("resource", "gopher://h.example/0/a", "text/plain", "pe", id("2"), date(later), "WARC-Truncated: unspecified\r\n"),
			record("metadata", "gopher://h.example/0/a", exchange, `{"op":"get","content":"urn:2","answer":{"kind":"object","size":-1}}`, id("3"), date(later), "WARC-Concurrent-To: <urn:2>\r\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := response(tt.url, ok("pear"), id("1"), date(earlier))
			switch tt.url[0] {
			case 'f':
				first = record("resource", tt.url, "text/plain", "pear", id("1"), date(earlier))
			case 'g':
				first = record("resource", tt.url, "text/plain", "pear", id("1"), date(earlier)) +
					record("metadata", tt.url, exchange, `{"op":"get","content":"urn:1","answer":{"kind":"object","size":-1}}`, id("4"), date(earlier))
			}
			c := client(t, replay.Options{}, append([]string{first}, tt.last...)...)
			if got := get(c, getRequest(tt.url)); got != "pear" {
				t.Errorf("%q", got)
			}
		})
	}
}

// Content that was not read to its end is not replayed as complete.
func TestContentNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	const u = "gopher://h.example/0/a"
	c := client(t, replay.Options{},
		record("resource", u, "text/plain", "pe", id("2"), date(later), "WARC-Truncated: unspecified\r\n"),
		record("metadata", u, "application/x-urlget-exchange+json", `{"op":"get","content":"urn:2","answer":{"kind":"object","size":-1}}`, id("3"), date(later)))
	if got := get(c, getRequest(u)); got != "pe! truncated" {
		t.Errorf("%q", got)
	}
}

// The captured end of a resource is replayed for each form of its range.
func TestCapturedRanges(t *testing.T) {
	t.Parallel()
	const u = "http://h.example/a"
	rest := "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 2-3/4\r\nContent-Length: 2\r\n\r\nar"
	whole := "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/4\r\nContent-Length: 4\r\n\r\npear"
	cut := whole[:len(whole)-2]
	byClose := strings.Replace(whole, "Content-Length: 4\r\n", "", 1)
	unsized := "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 1-2/*\r\nContent-Length: 2\r\n\r\nea"
	middle := "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 1-2/4\r\nContent-Length: 2\r\n\r\nea"
	for _, tt := range []struct {
		name, captured string
		requested      fetch.Range
		want           string
	}{
		{"open range", rest, fetch.Range{Offset: 2}, "ar"},
		{"range with its length", rest, fetch.Range{Offset: 2, Length: 2}, "ar"},
		{"range beyond the end", rest, fetch.Range{Offset: 2, Length: 9}, "ar"},
		{"suffix range", rest, fetch.Range{Offset: -2}, "ar"},
		{"a part of it", middle, fetch.Range{Offset: 2, Length: 1}, "a"},
		{"its first bytes", middle, fetch.Range{Offset: 1, Length: 1}, "e"},
		{"a part, of a content of unknown size", unsized, fetch.Range{Offset: 2, Length: 1}, "a"},
		{"the end, of a content of unknown size", unsized, fetch.Range{Offset: 1}, "! not_found"},
		{"a range that begins in it", middle, fetch.Range{Offset: 2, Length: 2}, "! not_found"},
		{"the suffix of the end", rest, fetch.Range{Offset: -1}, "r"},
		{"the last byte", rest, fetch.Range{Offset: 3}, "r"},
		{"all", whole, fetch.Range{}, "pear"},
		{"all, without its length", byClose, fetch.Range{}, "pear"},
		{"all, but cut off", cut, fetch.Range{}, "pe! truncated"},
		{"all, but cut off and without its length", byClose[:len(byClose)-2], fetch.Range{}, "pe! truncated"},
		{"a range of all", whole, fetch.Range{Offset: 1, Length: 2}, "ea"},
		{"an open range of all", whole, fetch.Range{Offset: 1}, "ear"},
		{"all as a range", whole, fetch.Range{Offset: 0, Length: 4}, "pear"},
		{"other open range", rest, fetch.Range{Offset: 1}, "! not_found"},
		{"open range, captured only in the middle", middle, fetch.Range{Offset: 1}, "! not_found"},
		{"complete content, captured only in part", rest, fetch.Range{}, "! not_found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := getRequest(u)
			req.Range = tt.requested
			if got := get(client(t, replay.Options{}, response(u, tt.captured, id("1"), date(later))), req); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// In merged archives, a revisit may refer to another revisit.
func TestRevisitsOfRevisits(t *testing.T) {
	t.Parallel()
	const web, head = "application/http; msgtype=response", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
	to := func(u, d string) string {
		return "WARC-Refers-To-Target-URI: " + u + "\r\nWARC-Refers-To-Date: " + d + "\r\n"
	}
	c := client(t, replay.Options{},
		response("http://h.example/1", ok("pear"), id("1"), date(earlier)),
		record("revisit", "http://h.example/2", web, head, id("2"), date(later), "WARC-Refers-To: <urn:1>\r\n"),
		record("revisit", "http://h.example/3", web, head, id("3"), date(later), "WARC-Refers-To: <urn:2>\r\n"),
		record("revisit", "http://h.example/4", web, head, id("4"), date(later), to("http://h.example/2", later)),
		record("resource", "gopher://h.example/0/1", "text/plain", "pear", id("6"), date(earlier)),
		record("revisit", "gopher://h.example/0/2", "text/plain", "", id("7"), date(later), to("gopher://h.example/0/1", earlier)),
		record("revisit", "gopher://h.example/0/3", "text/plain", "", id("8"), date(later), to("gopher://h.example/0/2", later)),
		record("metadata", "gopher://h.example/0/3", "application/x-urlget-exchange+json", `{"op":"get","content":"urn:8","answer":{"kind":"object","size":-1}}`, id("9"), date(later)),
		response("http://h.example/6", ok("pear"), id("10"), date(later)),
		record("revisit", "http://h.example/6", web, head, id("11"), date(later), to("http://h.example/6", later)),
		record("revisit", "http://h.example/5", web, head, id("5"), date(later), "WARC-Refers-To: <urn:5>\r\n"),
	)
	for u, want := range map[string]string{"http://h.example/3": "pear", "http://h.example/4": "pear", "http://h.example/6": "pear", "gopher://h.example/0/3": "pear", "http://h.example/5": "! protocol"} {
		if got := get(c, getRequest(u)); got != want {
			t.Errorf("%s: %q, want %q", u, got, want)
		}
	}
}

// A revisit is a complete capture: WARC-Truncated tells only that it omits the payload.
func TestRevisitsAreComplete(t *testing.T) {
	t.Parallel()
	const web, length = "application/http; msgtype=response", "WARC-Truncated: length\r\n"
	head := ok("pear")[:len(ok("pear"))-4]
	c := client(t, replay.Options{},
		response("http://h.example/a", ok("pear"), id("1"), date(earlier)),
		record("revisit", "http://h.example/b", web, head, id("2"), date(later), length, "WARC-Refers-To: <urn:1>\r\n"),
		response("http://h.example/c", ok("plum"), id("3"), date(earlier)),
		record("revisit", "http://h.example/c", web, head, id("4"), date(later), length, "WARC-Refers-To: <urn:1>\r\n"),
		record("revisit", "http://h.example/empty", web, "", id("5"), date(later), length, "WARC-Refers-To: <urn:1>\r\n"),
		record("revisit", "http://h.example/loop", web, "", id("6"), date(later), "WARC-Refers-To: <urn:6>\r\n"),
		record("resource", "ftp://h.example/a", "text/plain", "pear", id("7"), date(earlier)),
		record("revisit", "gopher://h.example/0/b", "text/plain", "", id("8"), date(later), length, "WARC-Refers-To: <urn:7>\r\n"),
		record("metadata", "gopher://h.example/0/b", "application/x-urlget-exchange+json", `{"op":"get","content":"urn:8","answer":{"kind":"object","size":4}}`, id("9"), date(later)),
	)
	for u, want := range map[string]string{"http://h.example/b": "pear", "http://h.example/c": "pear", "http://h.example/empty": "pear",
		"http://h.example/loop": "! protocol", "gopher://h.example/0/b": "pear"} {
		if got := get(c, getRequest(u)); got != want {
			t.Errorf("%s: %q, want %q", u, got, want)
		}
	}
}

// A revisit without its original does not hide an older capture that has the content.
func TestRevisitsOfMissingRecords(t *testing.T) {
	t.Parallel()
	const web, head = "application/http; msgtype=response", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
	const exchange = "application/x-urlget-exchange+json"
	const page, menu = "http://h.example/a", "gopher://h.example/0/a"
	to := "WARC-Refers-To-Target-URI: http://else.example/\r\nWARC-Refers-To-Date: " + earlier + "\r\n"
	const last = "2026-01-03T00:00:00Z"
	records := []string{
		response(page, ok("pear"), id("1"), date(earlier)),
		record("revisit", page, web, head, id("2"), date(later), to),
		record("revisit", page, web, head, id("3"), date(last), "WARC-Refers-To: <urn:none>\r\n"),
		response("http://h.example/b", ok("plum"), id("4"), date(earlier)),
		record("revisit", "http://h.example/b", web, head, id("5"), date(later), to),
		response("http://h.example/b", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", id("6"), date(last)),
		record("resource", menu, "text/plain", "menu", id("7"), date(earlier)),
		record("metadata", menu, exchange, `{"op":"get","content":"urn:7","answer":{"kind":"object","size":-1}}`, id("8"), date(earlier)),
		record("revisit", menu, "text/plain", "", id("9"), date(later), to),
		record("metadata", menu, exchange, `{"op":"get","content":"urn:9","answer":{"kind":"object","size":-1}}`, id("10"), date(later)),
	}
	path := filepath.Join(t.TempDir(), "a.warc")
	if err := os.WriteFile(path, []byte(strings.Join(records, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, last)
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range []replay.Options{{}, {At: at}} {
		c := clientOf(t, opts, path)
		for u, want := range map[string]string{page: "pear", "http://h.example/b": "plum", menu: "menu"} {
			if got := get(c, getRequest(u)); got != want {
				t.Errorf("%s: %q, want %q", u, got, want)
			}
		}
	}
	a, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, u := range []string{page, "http://h.example/b", menu} {
		if when, ok := a.Find(getRequest(u), time.Time{}); !ok || when.Format(time.RFC3339) != earlier {
			t.Errorf("time of %s is %v", u, when)
		}
	}
}
