package bench

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/gopher"
)

// BenchmarkGopherMenu lists a menu of 100,000 lines with a client, which turns lines into entries
// with URLs. The server is a connection that reads from memory. The target is 150 MB/s on one core.
//
//	go test -run '^$' -bench GopherMenu -benchmem -cpu 1 ./bench
func BenchmarkGopherMenu(b *testing.B) {
	const lines = 100_000
	for _, c := range []struct{ name, block string }{
		{"short", "1Files\t/files\tgopher.example.org\t70\r\n"},
		{"typical", "1Archive of the year\t/archive/2024\tgopher.example.org\t70\r\n" +
			"0How to join this server, and what to do then\t/docs/how-to-join.txt\tgopher.example.org\t70\r\n" +
			"iWelcome to the server. Here are some files and links.\tfake\t(NULL)\t0\r\n" +
			"hThe same on the web\tURL:https://www.example.org/gopher/\tgopher.example.org\t70\r\n" +
			"9Backup of all files, compressed\t/files/2024/backup-of-all.tar.gz\tgopher.example.org\t70\r\n"},
		{"latin1", "0Gr\xfc\xdfe aus K\xf6ln\t/gr\xfc\xdfe/k\xf6ln.txt\tgopher.example.org\t70\r\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			perBlock := strings.Count(c.block, "\n")
			menu := bytes.Repeat([]byte(c.block), lines/perBlock)
			client := fetch.New(&fetch.Options{
				DialContext: func(context.Context, string, string) (net.Conn, error) {
					return &memoryConn{Reader: bytes.NewReader(menu)}, nil
				},
			}, gopher.Load)
			defer client.Close()
			b.SetBytes(int64(len(menu)))
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range client.List(b.Context(), "gopher://gopher.example.org/1/") {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != lines {
					b.Fatalf("%d entries, want %d", n, lines)
				}
			}
		})
	}
}

// A memoryConn is a connection to a server that sends the same bytes from memory for every request.
type memoryConn struct{ *bytes.Reader }

func (*memoryConn) Write(p []byte) (int, error)      { return len(p), nil }
func (*memoryConn) Close() error                     { return nil }
func (*memoryConn) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1024} }
func (*memoryConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 70} }
func (*memoryConn) SetDeadline(time.Time) error      { return nil }
func (*memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (*memoryConn) SetWriteDeadline(time.Time) error { return nil }
