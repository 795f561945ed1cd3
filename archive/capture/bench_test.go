package capture

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// BenchmarkSmall records an HTTP exchange with a response body of 4 KiB.
func BenchmarkSmall(b *testing.B) {
	for _, plain := range []bool{false, true} {
		b.Run(fmt.Sprintf("plain=%v", plain), func(b *testing.B) {
			w, err := warc.Create(filepath.Join(b.TempDir(), "a"), warc.WriterOptions{Plain: plain})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			c := New(w, NewSeen(), func(err error) { b.Error(err) })
			req := &fetch.Request{URL: uri.MustParse("http://192.0.2.1/many/file-00001")}
			content := bytes.Repeat([]byte("A pear is a fruit, which grows on a tree in the garden of Alice.\n"), 64)[:4096]
			sent := []byte("GET /many/file-00001 HTTP/1.1\r\nHost: 192.0.2.1\r\nUser-Agent: urlget\r\nAccept-Encoding: identity\r\n\r\n")
			head := []byte("HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Tue, 20 Dec 1994 12:00:00 GMT\r\nContent-Type: application/octet-stream\r\n" +
				"Content-Length: 4096\r\nLast-Modified: Tue, 20 Dec 1994 12:00:00 GMT\r\nConnection: keep-alive\r\nETag: \"1\"\r\nAccept-Ranges: bytes\r\n\r\n")
			b.SetBytes(4096)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				copy(content, fmt.Sprint(i))
				x := c.Record(context.Background(), req)
				peerAt("192.0.2.1:80", nil)(x)
				x.Sent(1, sent)
				x.Received(1, head)
				x.Received(1, content)
				x.End(nil)
			}
		})
	}
}
