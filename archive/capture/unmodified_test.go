package capture

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/archive/warc"
)

// A 304 is a revisit of the content that the server has not modified (WARC/1.1, section 6.7.3).
func TestUnmodifiedContentIsARevisit(t *testing.T) {
	t.Parallel()
	const (
		u         = "http://h.example/a"
		content   = "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 4\r\n\r\npear"
		unchanged = "HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\n\r\n"
	)
	conditional := strings.Replace(get, "\r\n\r\n", "\r\nIf-None-Match: \"e\"\r\n\r\n", 1)
	since := strings.Replace(get, "\r\n\r\n", "\r\nIf-Modified-Since: Thu, 01 Jan 1970 00:00:01 GMT\r\n\r\n", 1)
	first := exchange(u, sent(get), received(content), ended(nil))
	index := `example,h)/a 20260101000000 {"url":"http://h.example/a","mime":"text/plain","status":"200","digest":` +
		`"sha256:97cfbe87531abe0c6bac7b21d616cb422faaa158a9f2ae7e8685c79eb85fc65e","length":"9","offset":"7","filename":"b.warc.gz"}` + "\n"
	loaded := NewSeen()
	if err := loaded.Load(strings.NewReader(index)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, request string
		seen          *Seen
		before        []func(*Capture)
		kind, of      string
	}{
		{"in an unknown archive", conditional, nil, nil, warc.Revisit, ""},
		{"since a date", since, nil, nil, warc.Revisit, ""},
		{"earlier in the same archive", conditional, NewSeen(), []func(*Capture){first}, warc.Revisit, u},
		{"in an archive with an index", conditional, loaded, nil, warc.Revisit, u},
		{"without a condition", get, nil, nil, warc.Response, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list := recordOf(t, tt.seen, append(tt.before, exchange(u, sent(tt.request), received(unchanged), ended(nil)))...)
			r := list[len(list)-2]
			if r.Type != tt.kind || r.Field("WARC-Refers-To-Target-URI") != tt.of || string(r.Block) != unchanged {
				t.Errorf("%s of %q: %q", r.Type, r.Field("WARC-Refers-To-Target-URI"), r.Block)
			}
			isRevisit := tt.kind == warc.Revisit
			if has := r.Field("WARC-Profile") != ""; has != isRevisit {
				t.Errorf("profile %q", r.Field("WARC-Profile"))
			}
			if has := r.Field("WARC-Payload-Digest") == ""; has != isRevisit {
				t.Errorf("payload digest %q", r.Field("WARC-Payload-Digest"))
			}
		})
	}
}
