package main

import (
	"runtime"
	"testing"

	"github.com/urlget/urlget/fetch"
)

func TestLargeContentGetsAllProcessors(t *testing.T) {
	all := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(all)
	for size, want := range map[int64]int{0: 1, 1 << 20: 1, 1<<20 + 1: 3, -1: 3} {
		a := &app{}
		a.useOneProcessor()
		a.makeRoom(&fetch.Meta{Size: size})
		a.makeRoom(&fetch.Meta{Size: 1}) // does not take them back
		if got := runtime.GOMAXPROCS(0); got != want {
			t.Errorf("%d bytes: %d processors, want %d", size, got, want)
		}
		a.useAllProcessors()
		if got := runtime.GOMAXPROCS(0); got != 3 {
			t.Errorf("%d bytes: %d processors in the end", size, got)
		}
	}
}
