package replay_test

import (
	"testing"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
)

// Of the representations of a resource, a request gets the one that it asks for, if that was captured.
func TestRepresentations(t *testing.T) {
	t.Parallel()
	capture := func(url, n, at, fields, body, vary string) []string {
		return []string{
			response(url, ok(body, "Vary: "+vary+"\r\n"), id(n), date(at)),
			record("request", url, "application/http; msgtype=request", "GET / HTTP/1.1\r\n"+fields+"\r\n", "WARC-Concurrent-To: <urn:"+n+">\r\n"),
		}
	}
	var records []string
	for _, list := range [][]string{
		capture("http://h.example/a", "1", earlier, "Accept: text/html\r\n", "page", "Accept"),
		capture("http://h.example/a", "2", later, "Accept: application/json\r\n", "data", "Origin, accept"),
		capture("http://h.example/l", "3", earlier, "Accept-Language: de, en\r\n", "deutsch", "Accept-Language"),
		capture("http://h.example/l", "4", later, "Accept-Language: en\r\n", "english", "Accept-Language"),
		capture("http://h.example/n", "5", earlier, "Accept: text/html\r\n", "old", "Accept-Encoding"),
		capture("http://h.example/n", "6", later, "Accept: application/json\r\n", "new", "Accept-Encoding"),
	} {
		records = append(records, list...)
	}
	for name, c := range map[string]*fetch.Client{
		"scanned": client(t, replay.Options{Only: true}, records...), "indexed": indexedClient(t, records...),
	} {
		for _, tt := range []struct {
			url, field, value, want string
		}{
			{"http://h.example/a", "Accept", "text/html", "page"},
			{"http://h.example/a", "Accept", "Application/JSON", "data"},
			{"http://h.example/a", "Accept", "image/png", "data"}, // none was captured: the last one
			{"http://h.example/a", "X", "y", "data"},
			{"http://h.example/l", "Accept-Language", "de,en", "deutsch"},
			{"http://h.example/n", "Accept", "text/html", "new"},
		} {
			req := &fetch.Request{URL: uri.MustParse(tt.url), Header: map[string][]string{tt.field: {tt.value}}}
			if body, _, err := drive.Do(t, c, req); err != nil || body != tt.want {
				t.Errorf("%s: %s with %s %s: %q, %v, want %q", name, tt.url, tt.field, tt.value, body, err, tt.want)
			}
		}
	}
}
