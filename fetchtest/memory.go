package fetchtest

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"
)

// LiveHeap runs f and fails the test if the heap grows by more than most bytes meanwhile. It asks the
// garbage collector to keep the program within that, so that what is not in use does not count. No
// other test may run at the same time. With -short the test is skipped: what floods memory takes long.
func LiveHeap(t testing.TB, most uint64, f func()) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
	runtime.GC()
	before := heap()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(before + most/2)))
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
	if peak > before+most {
		t.Errorf("the heap has grown by %d MiB, want %d at most", (peak-before)>>20, most>>20)
	}
}

// heap returns the bytes of objects on the heap, without stopping the program.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
