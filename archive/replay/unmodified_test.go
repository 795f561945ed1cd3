package replay_test

import (
	"testing"
	"time"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
)

// A 304 stands for the content of an earlier record, as a revisit or, in older archives, as a response.
func TestUnmodifiedContent(t *testing.T) {
	t.Parallel()
	const u, web = "http://h.example/a", "application/http; msgtype=response"
	const unchanged = "HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\n\r\n"
	refers := "WARC-Refers-To-Target-URI: " + u + "\r\nWARC-Refers-To-Date: " + earlier + "\r\n"
	content := response(u, ok("pear", "ETag: \"e\"\r\n"), id("1"), date(earlier))
	other := response("http://h.example/b", ok("pear"), id("1"), date(earlier))
	revisit := func(more ...string) string {
		return record("revisit", u, web, unchanged, append(more, id("2"), date(later))...)
	}
	response := response(u, unchanged, id("2"), date(later))
	const missing = "! protocol"
	for _, tt := range []struct {
		name    string
		records []string
		want    string
	}{
		{"with the content", []string{content, revisit(refers)}, "pear"},
		{"with the content, without a reference", []string{content, revisit()}, "pear"},
		{"with the content, as a response", []string{content, response}, "pear"},
		{"with the content under another URL", []string{other, revisit("WARC-Refers-To: <urn:1>\r\n")}, "pear"},
		{"alone", []string{revisit(refers)}, missing},
		{"alone, without a reference", []string{revisit()}, missing},
		{"alone, as a response", []string{response}, missing},
		{"of itself", []string{revisit("WARC-Refers-To: <urn:2>\r\n")}, missing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, err := time.Parse(time.RFC3339, later)
			if err != nil {
				t.Fatal(err)
			}
			for _, opts := range []replay.Options{{Only: true}, {Only: true, At: at}} {
				if got := get(client(t, opts, tt.records...), getRequest(u)); got != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
			}
			req := getRequest(u)
			req.IfChanged = fetch.Validator{ETag: `"e"`}
			if got := get(client(t, replay.Options{}, tt.records...), req); got != "! not_modified" {
				t.Errorf("with the validator: %q", got)
			}
		})
	}
}
