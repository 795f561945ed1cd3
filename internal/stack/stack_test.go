package stack_test

import (
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/urlget/urlget/internal/stack"
)

// use needs 128 bytes of stack for each call, and more for the call itself.
//
//go:noinline
func use(calls int) byte {
	var frame [128]byte
	frame[calls] = byte(calls)
	if calls > 0 {
		frame[0] += use(calls - 1)
	}
	return frame[0] + frame[calls]
}

func TestStackDoesNotMove(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it shrinks stacks
	moved := make(chan bool)
	go func() {
		stack.Grow()
		var local byte
		before := uintptr(unsafe.Pointer(&local))
		use(50)
		moved <- uintptr(unsafe.Pointer(&local)) != before
	}()
	if <-moved {
		t.Error("the stack was copied again")
	}
}
