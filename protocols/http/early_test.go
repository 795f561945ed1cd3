package http_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestContentDuringUploads checks responses that arrive while the client sends a body. Bytes after the head
// are content, also if they look like a head.
func TestContentDuringUploads(t *testing.T) {
	t.Parallel()
	pieces := []string{"a beginning", "ICY 200 OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "H"}
	for _, scheme := range []string{"http", "https"} {
		for _, head := range []string{"HTTP/1.1 200 OK\r\n", "HTTP/2 200 OK\r\n", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n"} {
			head += fmt.Sprintf("Content-Length: %d\r\n\r\n", len(strings.Join(pieces, "")))
			srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, in, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				for err == nil {
					io.WriteString(conn, head)
					io.Copy(struct{ io.Writer }{conn}, httputil.NewChunkedReader(in)) // the client sees errors
					in.ReadString('\n')                                               // no trailer
					_, err = http.ReadRequest(in.Reader)
				}
			}), strings.TrimPrefix(scheme, "http"))
			c := newClient(t, &fetch.Options{TLS: trust(srv)}, urlhttp.Options{})
			for range 2 { // on one connection
				body, w := io.Pipe()
				resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(srv.URL), Method: http.MethodPut, Body: body, ContentLength: -1})
				if err != nil {
					t.Fatalf("%s %q: %v", scheme, head, err)
				}
				for _, piece := range pieces {
					io.WriteString(w, piece)
					got := make([]byte, len(piece))
					if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != piece {
						t.Fatalf("%s %q: content %q, %v, want %q", scheme, head, got, err, piece)
					}
				}
				w.Close()
				if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
					t.Errorf("%s %q: more content %q, %v", scheme, head, rest, err)
				}
				resp.Body.Close()
			}
		}
	}
}
