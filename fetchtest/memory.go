package fetchtest

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
)

// LiveHeap runs f and fails the test if the heap grows by more than limit bytes. It sets a memory
// limit, so that garbage is collected in time and does not count. No other test may run at the same
// time. It fills memory, so it is skipped like other long tests; see [Long].
func LiveHeap(t testing.TB, limit uint64, f func()) {
	t.Helper()
	Long(t)
	runtime.GC()
	before := heap()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(before + limit/2)))
	var (
		wg   sync.WaitGroup
		done = make(chan struct{})
		peak uint64
	)
	wg.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			peak = max(peak, heap())
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	f()
	close(done)
	wg.Wait()
	if peak > before+limit {
		t.Errorf("the heap grew by %d MiB, want at most %d", (peak-before)>>20, limit>>20)
	}
}

// ListingHeap lists a URL and returns the last entry. It fails the test if the number of entries
// differs, or if the heap grows by more than limit bytes; see [LiveHeap].
func ListingHeap(t testing.TB, c *fetch.Client, rawURL string, entries int, limit uint64) (last fetch.Entry) {
	t.Helper()
	n := 0
	var err error
	LiveHeap(t, limit, func() {
		var e fetch.Entry
		for e, err = range c.List(t.Context(), rawURL) {
			if err != nil {
				return
			}
			n++
			last = e
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != entries {
		t.Errorf("%d entries, want %d", n, entries)
	}
	return last
}

// heap returns the size of the objects on the heap in bytes, without stopping the program.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
