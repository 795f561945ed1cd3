package main

import (
	"runtime"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
)

// smallBody is the maximum size in bytes of a body for which a second processor is not worthwhile.
const smallBody = 1 << 20

// A processorLimit restricts the process to one processor while it retrieves small files one at a
// time. Each file passes through several goroutines that do not run at the same time. Waking another
// processor for each of them costs about 15 % more processor time (docs/benchmarks.md).
type processorLimit struct {
	before atomic.Int32 // GOMAXPROCS before the limit; 0 if there is none
}

func (l *processorLimit) set() { l.before.Store(int32(runtime.GOMAXPROCS(1))) }

func (l *processorLimit) lift() {
	if n := l.before.Swap(0); n > 1 {
		runtime.GOMAXPROCS(int(n))
	}
}

// liftFor removes the limit if a body is large or of unknown size.
func (l *processorLimit) liftFor(m *fetch.Meta) {
	if m.Size < 0 || m.Size > smallBody {
		l.lift()
	}
}
