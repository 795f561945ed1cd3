package wire

import (
	"net"
	"syscall"
)

// quickAck asks the kernel to acknowledge what comes next at once. A server
// that sends its reply in two pieces waits with the second, by Nagle's
// algorithm, until the first is acknowledged, and the kernel may take 40 ms
// for that. It forgets the wish soon, so each command repeats it.
func quickAck(c net.Conn) {
	for {
		switch inner := c.(type) {
		case *net.TCPConn:
			raw, err := inner.SyscallConn()
			if err != nil {
				return
			}
			// If it fails, the reply comes a little later.
			raw.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1) })
			return
		case interface{ NetConn() net.Conn }:
			c = inner.NetConn()
		default:
			return
		}
	}
}
