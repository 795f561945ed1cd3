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

// A body is a document on a server that sends it from memory.
type body struct {
	load fetch.Loader
	url  string
	size int // size of the document in bytes
	// bare requests the document with the same messages and discards it.
	bare func() error
}

// BenchmarkBodies retrieves a document with each driver. It compares the driver with a bare client
// that reads the same bytes from the same server, with the same messages and round trips. So both
// figures include the server, and the difference is the cost of the driver. The target is 1.3 times
// the bare time. "cores" is the CPU time of client and server, which depends less on other load.
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
				defer measureCPU(b)()
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
				defer measureCPU(b)()
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

// measureCPU starts to measure the CPU time. The returned function reports it.
func measureCPU(b *testing.B) func() {
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

// discard reads all of r in large pieces. It fails unless r has size bytes.
func discard(r io.Reader, size int) error {
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 256<<10))
	if err == nil && n != int64(size) {
		err = fmt.Errorf("%d bytes of %d", n, size)
	}
	return err
}

// discardSome reads size bytes of r in large pieces.
func discardSome(r io.Reader, size int) error {
	buf := make([]byte, 256<<10)
	for size > 0 {
		n, err := r.Read(buf[:min(len(buf), size)])
		if size -= n; size > 0 && err != nil {
			return fmt.Errorf("%d bytes missing: %w", size, err)
		}
	}
	return nil
}

// requestBytes returns a bare client that sends one request and reads size bytes.
func requestBytes(addr, request string, size int) func() error {
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
