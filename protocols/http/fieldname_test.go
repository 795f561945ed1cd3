package http_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestMalformedFieldNames checks that the reason says what is wrong with a header line, and has no value,
// which may be a secret.
func TestMalformedFieldNames(t *testing.T) {
	t.Parallel()
	tests := []struct{ line, want string }{
		{"Transfer-Encoding : s3cret", `the header field name "Transfer-Encoding " is malformed`},
		{"transfer-encoding\t: s3cret", `the header field name "transfer-encoding\t" is malformed`},
		{"a b: s3cret", `the header field name "a b" is malformed`},
		{"Strict\u2010Transport: s3cret", "the header field name \"Strict\u2010Transport\" is malformed"},
		{"X\x01Y: s3cret", `the header field name "X\x01Y" is malformed`},
		{": s3cret", "a header field has no name"},
		{"s3cret", "a header line has no colon"},
	}
	for _, tt := range tests {
		for _, scheme := range []string{"http", "https"} {
			srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"+tt.line+"\r\n\r\nab")
			}), strings.TrimPrefix(scheme, "http"))
			_, err := drive.Get(t, newClient(t, &fetch.Options{TLS: trust(srv)}, urlhttp.Options{}), srv.URL)
			if e := asError(t, err); e.Code != fetch.ErrProtocol || !strings.HasSuffix(e.Error(), ": "+fetch.Printable(tt.want)) {
				t.Errorf("%s, %q: %v, want %q", scheme, tt.line, err, tt.want)
			}
		}
	}
}

// TestChoicesWithoutLocation checks that the list of a 300 response is content (RFC 9110, section 15.4.1),
// but not the rest of a resource.
func TestChoicesWithoutLocation(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 300 Multiple Choices\r\nContent-Length: 2\r\n\r\nab"
	c := newClient(t, nil, urlhttp.Options{})
	drive.Gets(t, c, raw(t, answer, false), "ab")
	_, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(raw(t, answer, false)),
		Range: fetch.Range{Offset: 1}})
	if e := asError(t, err); e.Code != fetch.ErrRedirect {
		t.Errorf("a range: %v", err)
	}
}
