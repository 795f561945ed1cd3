package gopher_test

import (
	"runtime"
	"testing"

	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/protocols/gopher"
)

// TestMenuMemory lists a menu of a million lines in less than 32 MiB.
func TestMenuMemory(t *testing.T) {
	const (
		lines = 200_000
		limit = 32 << 20
	)
	s := servers.Start(t, servers.Config{Scheme: "gopher"}, func(c *servers.Conn) {
		c.ReadLine()
		for range lines {
			if c.Printf("0A file with a title\t/dir/file.txt\th.example\t70") != nil {
				return
			}
		}
		c.Printf(".")
	})
	c := drive.Client(t, nil, gopher.Load)
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	n, most := 0, uint64(0)
	for _, err := range c.List(t.Context(), s.URL+"/") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%5000 == 0 {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		}
	}
	if n != lines || most > limit {
		t.Errorf("%d entries, and up to %d bytes of memory", n, most)
	}
	t.Logf("up to %.1f MiB", float64(most)/(1<<20))
}
