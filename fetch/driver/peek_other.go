//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package driver

import "net"

// peek knows nothing: sockets of these systems cannot be polled without waiting.
func peek(net.Conn) (waits, known bool) { return false, false }
