package gopher_test

import (
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/urlget/urlget/protocols/gopher"
)

// TestALongMenuTakesNoMemory lists a menu of a million lines in less than 32
// MiB.
func TestALongMenuTakesNoMemory(t *testing.T) {
	const (
		lines = 1_000_000
		limit = 32 << 20
	)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		c.Read(make([]byte, len("\r\n")))
		block := make([]byte, 0, 64<<10)
		for range lines / 1000 {
			block = block[:0]
			for range 1000 {
				block = append(block, "0A file with a title\t/dir/file.txt\th.example\t70\r\n"...)
			}
			if _, err := c.Write(block); err != nil {
				return
			}
		}
		io.WriteString(c, ".\r\n")
	}()
	c := client(t, gopher.Options{}, nil)
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	n, most := 0, uint64(0)
	for _, err := range c.List(t.Context(), "gopher://"+l.Addr().String()+"/") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%20_000 == 0 {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		}
	}
	if n != lines || most > limit {
		t.Errorf("%d entries, and up to %d octets of memory", n, most)
	}
	t.Logf("up to %.1f MiB", float64(most)/(1<<20))
}
