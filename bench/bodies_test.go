//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A body is a document at a server that sends from memory what is due, as cheaply as can be.
type body struct {
	load fetch.Loader
	url  string
	size int // of the document, in bytes
	// bare has the server send the document once more, in the same messages, and throws away what
	// comes.
	bare func() error
}

// BenchmarkBodies retrieves a document by each driver, and has the same server send the same bytes
// to who only reads them: with as many messages and round trips, and over SSH where the driver uses
// SSH. So the server is in both figures, and what more "fetch" takes is the driver's. The aim is 1.3
// of the bare time. "cores" is the time on the processors, of both ends, which other work on the
// machine disturbs less.
//
//	go test -run '^$' -bench Bodies -benchtime 10x -count 3 ./bench
func BenchmarkBodies(b *testing.B) {
	const line = "All work and no play makes a long document of it.\r\n"
	content := bytes.Repeat([]byte(line), 64<<20/len(line))
	for _, protocol := range []struct {
		name  string
		serve func(b *testing.B, content []byte) body
	}{
		{"gopher", gopherBody},
		{"nntp", newsBody},
		{"wais", waisBody},
		{"sftp", sftpBody},
		{"ldap-entries", entriesBody},
		{"ldap-photographs", photographsBody},
		{"prospero", prosperoBody},
	} {
		b.Run(protocol.name, func(b *testing.B) {
			doc := protocol.serve(b, content)
			b.Run("bare", func(b *testing.B) {
				b.SetBytes(int64(doc.size))
				defer cores(b)()
				for b.Loop() {
					if err := doc.bare(); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("fetch", func(b *testing.B) {
				c := fetch.New(nil, doc.load)
				defer c.Close()
				b.SetBytes(int64(doc.size))
				defer cores(b)()
				for b.Loop() {
					resp, err := c.Get(b.Context(), doc.url)
					if err != nil {
						b.Fatal(err)
					}
					if err := discard(resp.Body, doc.size); err != nil {
						b.Fatal(err)
					}
					resp.Body.Close()
				}
			})
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
	return func() { b.ReportMetric(float64((used()-before).Microseconds())/1000/float64(b.N), "cores-ms/op") }
}

// discard reads all of r, which must have so many bytes, in large pieces.
func discard(r io.Reader, size int) error {
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 256<<10))
	if err == nil && n != int64(size) {
		err = fmt.Errorf("%d bytes of %d", n, size)
	}
	return err
}

// discardSome reads so many bytes of r, in large pieces.
func discardSome(r io.Reader, size int) error {
	buf := make([]byte, 256<<10)
	for size > 0 {
		n, err := r.Read(buf[:min(len(buf), size)])
		if size -= n; size > 0 && err != nil {
			return fmt.Errorf("%d bytes are missing: %w", size, err)
		}
	}
	return nil
}

// asked returns what is bare with one request, after which so many bytes come.
func asked(addr, request string, size int) func() error {
	return func() error {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, request); err != nil {
			return err
		}
		return discardSome(conn, size)
	}
}
