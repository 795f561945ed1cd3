package http3_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/http/http3"
)

// BenchmarkGiB retrieves 1 GiB over HTTP/3, HTTP/2 and HTTP/1.1, from servers in the same process.
func BenchmarkGiB(b *testing.B) {
	const size = 1 << 30
	chunk := make([]byte, 256<<10)
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1073741824")
		for range size / len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	serverTLS, _ := servers.Certificate()
	serverTLS.NextProtos = []string{"h2", "http/1.1"}
	srv := &http.Server{Handler: h, TLSConfig: serverTLS}
	go srv.ServeTLS(l, "", "")
	defer srv.Close()
	overTCP, overQUIC := "https://"+l.Addr().String(), serve(b, udp(b), h)
	for _, bb := range []struct {
		name, url string
		opts      urlhttp.Options
	}{
		{"h3", overQUIC, urlhttp.Options{QUIC: http3.Over}},
		{"h2", overTCP, urlhttp.Options{Protocols: urlhttp.HTTP2}},
		{"http1", overTCP, urlhttp.Options{Protocols: urlhttp.HTTP1}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := fetch.New(options(), urlhttp.With(bb.opts))
			defer c.Close()
			b.SetBytes(size)
			for b.Loop() {
				resp, err := c.Get(b.Context(), bb.url)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if n != size || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}
