package fetchhttp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// simpleRequest returns the URL of a request of HTTP/0.9, "GET URL" without a version (RFC 1945, section
// 4.1), if the client sends one. It reads nothing.
func simpleRequest(r *bufio.Reader) (target string, ok bool) {
	for n := 4; ; {
		b, err := r.Peek(n)
		if len(b) >= 4 && string(b[:4]) != "GET " {
			return "", false
		}
		if line, _, whole := bytes.Cut(b, []byte("\n")); whole {
			words := strings.Fields(string(line))
			return words[len(words)-1], len(words) == 2
		}
		if err != nil { // a line that is longer than the buffer has a version, or none that matters
			return "", false
		}
		n = max(n+1, min(r.Buffered(), r.Size()))
	}
}

// serveSimple answers a request of HTTP/0.9: the response is the content, without a header.
func (p *Proxy) serveSimple(ctx context.Context, c readWriter, target string) {
	u, err := url.Parse(target)
	if err != nil {
		io.WriteString(c.Conn, "The URL is malformed.\n")
		return
	}
	r := &http.Request{Method: http.MethodGet, URL: u, RequestURI: target, Proto: "HTTP/0.9", ProtoMinor: 9,
		Header: http.Header{}, Body: http.NoBody, RemoteAddr: c.RemoteAddr().String()}
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, c.LocalAddr())
	defer func() {
		if e := recover(); e != nil && e != http.ErrAbortHandler {
			panic(e)
		}
	}()
	p.ServeHTTP(&simpleResponse{Writer: c.Conn, header: http.Header{}}, r.WithContext(ctx))
}

type simpleResponse struct {
	io.Writer
	header http.Header
}

func (w *simpleResponse) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. HTTP/0.9 has no header.
func (w *simpleResponse) WriteHeader(int) {}

func (w *simpleResponse) Flush() {}
