// Package stack makes room on the stack of a goroutine.
package stack

// room is the size of the frame of grow, after which the stack has 16 KiB.
const room = 8 << 10

// Grow gives the stack of the calling goroutine 16 KiB at once. Stacks begin with 2 KiB, and the runtime
// doubles them while they are in use: each time it copies all frames and looks up the pointers in each.
func Grow() { grow(-1) }

// grow has a large frame, which it does not touch.
//
//go:noinline
func grow(i int) byte {
	if i < 0 {
		return 0
	}
	var frame [room]byte
	frame[i] = 1
	return frame[len(frame)-i-1]
}
