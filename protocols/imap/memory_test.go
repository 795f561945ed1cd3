package imap

import (
	"runtime"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
)

// TestListingMemory lists a mailbox of 50,000 messages, and looks at the heap on the way. The
// server makes the lines when they are asked for.
func TestListingMemory(t *testing.T) {
	const count, most = 50_000, 32 << 20
	s := imapd.Start(t, imapd.Options{Synthetic: count})
	c := fetch.New(nil, With(Options{AllowPlaintext: true}))
	defer c.Close()
	n, peak := 0, uint64(0)
	for _, err := range c.List(t.Context(), "imap://joe:x@"+s.Addr+"/synthetic") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%5000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}
	}
	if n != count {
		t.Errorf("%d entries", n)
	}
	if peak > most {
		t.Errorf("%d MiB of heap in use, more than %d", peak>>20, most>>20)
	}
	t.Logf("at most %d MiB of heap in use", peak>>20)
}
