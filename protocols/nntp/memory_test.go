package nntp

import (
	"runtime"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
)

// TestListingMemory lists a group of 100,000 articles, and looks at the heap on the way. The server
// makes the lines when they are asked for.
func TestListingMemory(t *testing.T) {
	const articles, most = 100_000, 48 << 20
	s := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "big", Synthetic: articles}}})
	c := drive.Client(t, nil, With(Options{Server: s.Addr}))
	n, peak := 0, uint64(0)
	var last fetch.Entry
	for e, err := range c.List(t.Context(), "news:big") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%5000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}
		last = e
	}
	if n != articles || last.Sys.(Overview).Number != articles {
		t.Errorf("%d entries, the last %+v", n, last)
	}
	if peak > most {
		t.Errorf("%d MiB of heap in use, more than %d", peak>>20, most>>20)
	}
	t.Logf("at most %d MiB of heap in use", peak>>20)
}
