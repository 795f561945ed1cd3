package http_test

import (
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestTLSWithoutCloseNotify ends TLS connections at the end of a body. Only a self-delimited
// body is then complete (RFC 9112, section 9.8).
func TestTLSWithoutCloseNotify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, answer string
		closeNotify  bool
		coded        bool
		code         fetch.Code
	}{
		{name: "no length, close_notify", answer: "HTTP/1.1 200 OK\r\n\r\nabc", closeNotify: true},
		{name: "no length, cut", answer: "HTTP/1.1 200 OK\r\n\r\nabc", code: fetch.ErrTruncated},
		{name: "HTTP/1.0, cut", answer: "HTTP/1.0 200 OK\r\n\r\nabc", code: fetch.ErrTruncated},
		{name: "nothing but a head, cut", answer: "HTTP/1.0 200 OK\r\n\r\n", code: fetch.ErrTruncated},
		{name: "coded, cut", answer: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + string(encode(t, "gzip", []byte("abc"))),
			coded: true, code: fetch.ErrTruncated},
		{name: "coded, close_notify", answer: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + string(encode(t, "gzip", []byte("abc"))),
			coded: true, closeNotify: true},
		{name: "a length, cut", answer: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"},
		{name: "chunks, cut", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		{name: "chunks without the last, cut", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
			code: fetch.ErrTruncated},
	}
	serverTLS, clientTLS := servers.Certificate()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := serveConns(t, func(raw net.Conn) {
				conn := tls.Server(raw, serverTLS)
				if !readRequest(conn) {
					return
				}
				io.WriteString(conn, tt.answer)
				if tt.closeNotify {
					conn.Close()
				}
			})
			c := newClient(t, &fetch.Options{TLS: clientTLS}, urlhttp.Options{Compressed: tt.coded})
			body, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse("https" + u[len("http"):])})
			if fetch.CodeOf(err) != tt.code || err == nil && body != "abc" || resp == nil {
				t.Fatalf("%q, %v; want class %q", body, err, tt.code)
			}
			if err != nil && !asError(t, err).Retry {
				t.Errorf("%v: no second try", err)
			}
			if resp.Framing != fetch.FramedByProtocol {
				t.Error("the end is said to be unknown")
			}
		})
	}
}
