//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchtest/servers/prosperod"
	"github.com/urlget/urlget/fetch/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/fetch/fetchtest/servers/waisd"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/prospero"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/protocols/wais"
)

// BenchmarkBodies retrieves a document by each driver, and as many bytes by a bare connection from
// who does nothing but send them. The aim is 1.3 of the bare time. For gopher and nntp the server
// sends the same bytes from memory; for the others it is that of the tests, in the same process, and
// what it takes is in the figures. "cores" is the time on the
// processors, which other work on the machine disturbs less.
//
//	go test -run '^$' -bench Bodies -benchtime 5x -count 3 ./bench
func BenchmarkBodies(b *testing.B) {
	const line = "All work and no play makes a long document of it.\r\n"
	size := 64 << 20
	content := bytes.Repeat([]byte(line), size/len(line))
	tree := fstest.MapFS{"db/doc.txt": &fstest.MapFile{Data: content}}
	short := fstest.MapFS{"db/doc.txt": &fstest.MapFile{Data: content[:8<<20/len(line)*len(line)]}}
	for _, way := range []struct {
		name string
		size int
		load fetch.Loader
		url  func(b *testing.B, c *fetch.Client) string
	}{
		{"gopher", len(content), gopher.Load, func(b *testing.B, _ *fetch.Client) string {
			return "gopher://" + replier(b, "", func(string) []byte { return content }, true) + "/9/doc.bin"
		}},
		{"nntp", len(content), nntp.Load, func(b *testing.B, _ *fetch.Client) string {
			article := slices.Concat([]byte("220 0 <1@bench.invalid>\r\nMessage-ID: <1@bench.invalid>\r\n\r\n"), content, []byte(".\r\n"))
			return "news://" + replier(b, "200 hi\r\n", func(line string) []byte {
				if strings.HasPrefix(line, "ARTICLE") {
					return article
				}
				return []byte("101 can\r\nVERSION 2\r\nREADER\r\n.\r\n")
			}, false) + "/1@bench.invalid"
		}},
		{"wais", len(content), wais.Load, func(b *testing.B, c *fetch.Client) string {
			addr := waisd.Start(b, waisd.Options{Tree: tree}).Addr
			for e, err := range c.List(b.Context(), "wais://"+addr+"/db?work") {
				if err != nil {
					b.Fatal(err)
				}
				return e.URL.String()
			}
			b.Fatal("no document")
			return ""
		}},
		{"sftp", len(content), sftp.With(sftp.Options{NoConfig: true, KnownHosts: []string{filepath.Join(b.TempDir(), "known_hosts")},
			TrustKey: func(context.Context, sftp.HostKey) (bool, error) { return true, nil }}), func(b *testing.B, _ *fetch.Client) string {
			return "sftp://bench@" + sftpd.Start(b, sftpd.Options{Tree: tree}).Addr + "/db/doc.txt"
		}},
		{"prospero", 8 << 20 / len(line) * len(line), prospero.Load, func(b *testing.B, _ *fetch.Client) string {
			return "prospero://" + prosperod.Start(b, prosperod.Options{Tree: short}).Addr + "/db/doc.txt"
		}},
	} {
		b.Run(way.name+"/bare", func(b *testing.B) {
			addr := bareSender(b, content[:way.size])
			b.SetBytes(int64(way.size))
			defer cores(b)()
			for b.Loop() {
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					b.Fatal(err)
				}
				copied(b, conn, way.size)
				conn.Close()
			}
		})
		b.Run(way.name+"/fetch", func(b *testing.B) {
			c := fetch.New(nil, way.load)
			defer c.Close()
			url := way.url(b, c)
			b.SetBytes(int64(way.size))
			defer cores(b)()
			for b.Loop() {
				resp, err := c.Get(b.Context(), url)
				if err != nil {
					b.Fatal(err)
				}
				copied(b, resp.Body, way.size)
				resp.Body.Close()
			}
		})
	}
}

// cores begins to count the time on the processors; what it returns reports it.
func cores(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Milliseconds())/float64(b.N), "cores-ms/op") }
}

// copied reads all of r, which has at least so many bytes, in large pieces.
func copied(b *testing.B, r io.Reader, least int) {
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 256<<10))
	if err != nil || n < int64(least) {
		b.Fatal(fmt.Errorf("%d bytes of %d: %w", n, least, err))
	}
}

// replier returns the address of a server that answers lines from memory, and hangs up after the
// first answer if once is true.
func replier(b *testing.B, greeting string, answer func(line string) []byte, once bool) string {
	return listen(b, func(conn net.Conn) {
		io.WriteString(conn, greeting)
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			if _, err := conn.Write(answer(lines.Text())); err != nil || once {
				return
			}
		}
	})
}

// bareSender returns an address that sends content to whoever connects.
func bareSender(b *testing.B, content []byte) string {
	return listen(b, func(conn net.Conn) { conn.Write(content) })
}
