package main

import (
	"runtime"
	"testing"

	"github.com/urlget/urlget/fetch"
)

func TestLargeBodiesLiftTheProcessorLimit(t *testing.T) {
	all := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(all)
	for size, want := range map[int64]int{0: 1, smallBody: 1, smallBody + 1: 3, -1: 3} {
		var limit processorLimit
		limit.set()
		limit.liftFor(&fetch.Meta{Size: size})
		limit.liftFor(&fetch.Meta{Size: 1}) // a small body does not restore the limit
		if got := runtime.GOMAXPROCS(0); got != want {
			t.Errorf("%d bytes: %d processors, want %d", size, got, want)
		}
		limit.lift()
		if got := runtime.GOMAXPROCS(0); got != 3 {
			t.Errorf("%d bytes: %d processors at the end, want 3", size, got)
		}
	}
}
