package main

import (
	"runtime"

	"github.com/urlget/urlget/fetch"
)

// smallContent is the size up to which content is too little work to share among processors, in
// bytes.
const smallContent = 1 << 20

// useOneProcessor leaves one processor to the goroutines of this process. Where small files come
// one at a time, each passes through several goroutines, which have nothing to do at the same time:
// to wake another processor for each costs more than it brings.
func (a *app) useOneProcessor() {
	a.processors.Store(int32(runtime.GOMAXPROCS(1)))
}

// useAllProcessors undoes useOneProcessor.
func (a *app) useAllProcessors() {
	if n := a.processors.Swap(0); n > 1 {
		runtime.GOMAXPROCS(int(n))
	}
}

// makeRoom sees that there are enough processors for content.
func (a *app) makeRoom(m *fetch.Meta) {
	if m.Size < 0 || m.Size > smallContent {
		a.useAllProcessors()
	}
}
