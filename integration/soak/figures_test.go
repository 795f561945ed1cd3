//go:build integration

package soak

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// A tally counts the outcomes of downloads.
type tally struct {
	mu           sync.Mutex
	whole, short int
	bytes        int64
	classes      map[fetch.Code]int
}

func (t *tally) completed(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole++
	t.bytes += int64(bytes)
}

func (t *tally) unverifiable() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.short++
}

func (t *tally) failed(code fetch.Code) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.classes[code]++
}

// String returns the figures as a sentence.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d files complete (%d MiB), %d short and reported as unverifiable", t.whole, t.bytes>>20, t.short)
	for _, code := range slices.Sorted(maps.Keys(t.classes)) {
		fmt.Fprintf(&b, ", %d × %s", t.classes[code], code)
	}
	return b.String()
}

// A usage holds the resources of the process.
type usage struct {
	goroutines, files int
	heap              uint64
}

// current returns the current usage. files is 0 on systems without /proc.
func current() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = len(open)
	}
	return u
}

// within reports whether u does not exceed limit, apart from a little memory.
func (u usage) within(limit usage) bool {
	return u.goroutines <= limit.goroutines && u.files <= limit.files && u.heap <= limit.heap+memorySlack
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %.1f MiB", u.goroutines, u.files, float64(u.heap)/(1<<20))
}
