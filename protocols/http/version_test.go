package http_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestVersionRefusedByStatus checks servers that refuse one version of HTTP by a status. The request is
// sent again with the other, and later requests use it at once.
func TestVersionRefusedByStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		opts    urlhttp.Options
		refused int // the major version
		want    string
	}{
		{urlhttp.Options{Single: true}, 1, "1 2 2"},
		{urlhttp.Options{Single: true}, 3, "1 2"}, // refuses both
		{urlhttp.Options{}, 2, "2 1 1"},
		{urlhttp.Options{}, 3, "2 1"},
		{urlhttp.Options{Protocols: urlhttp.HTTP1}, 1, "1"},
		{urlhttp.Options{Protocols: urlhttp.HTTP2}, 2, "2"},
	} {
		for _, status := range []int{421, 426, 505} {
			var log strings.Builder
			srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(&log, "%d ", r.ProtoMajor)
				if r.ProtoMajor == tt.refused || tt.refused == 3 {
					w.WriteHeader(status)
				}
				io.Copy(w, r.Body)
			}), "h2")
			c := newClient(t, &fetch.Options{TLS: trust(srv)}, tt.opts)
			refusesAll := len(tt.want) < 5
			for range 2 {
				body, _, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(srv.URL), Method: "POST",
					GetBody: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("form")), nil }})
				if refusesAll != (err != nil) || err == nil && body != "form" {
					t.Errorf("%+v, %d: %q, %v", tt.opts, status, body, err)
				}
				if refusesAll {
					break
				}
			}
			if got := strings.TrimSpace(log.String()); got != tt.want {
				t.Errorf("%+v, %d: versions %q, want %q", tt.opts, status, got, tt.want)
			}
		}
	}
}

// TestHTTP1Required checks servers of HTTP/2 that reset a stream, or end the connection, with
// HTTP_1_1_REQUIRED (RFC 9113, section 7).
func TestHTTP1Required(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(f *http2.Framer, stream uint32){
		"stream":     func(f *http2.Framer, stream uint32) { f.WriteRSTStream(stream, http2.ErrCodeHTTP11Required) },
		"connection": func(f *http2.Framer, _ uint32) { f.WriteGoAway(0, http2.ErrCodeHTTP11Required, nil) },
	} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
		srv.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
		var streams atomic.Int64
		srv.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
			"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) {
				io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
				f := http2.NewFramer(conn, conn)
				f.WriteSettings()
				for {
					switch h, err := f.ReadFrame(); h := h.(type) {
					case *http2.HeadersFrame:
						streams.Add(1)
						refuse(f, h.StreamID)
					default:
						if err != nil {
							return
						}
					}
				}
			},
		}
		startServer(t, srv, "http/1.1")
		o := &fetch.Options{TLS: trust(srv)}
		c := newClient(t, o, urlhttp.Options{})
		for range 2 {
			drive.Gets(t, c, srv.URL, "hello")
		}
		if n := streams.Load(); n != 1 {
			t.Errorf("%s: %d requests over HTTP/2, want 1", name, n)
		}
		drive.Fails(t, newClient(t, o, urlhttp.Options{Protocols: urlhttp.HTTP2}), srv.URL, fetch.ErrNetwork)
	}
}
