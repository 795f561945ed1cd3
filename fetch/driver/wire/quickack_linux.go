package wire

import (
	"net"
	"syscall"
)

// QuickAck asks the kernel to acknowledge the next incoming data at once. A server that sends a
// reply in two segments holds back the second, because of Nagle's algorithm, until the first is
// acknowledged, and the kernel may delay that by 40 ms. The setting does not last, so it is
// repeated for each command.
func QuickAck(c net.Conn) {
	for {
		switch inner := c.(type) {
		case *net.TCPConn:
			raw, err := inner.SyscallConn()
			if err != nil {
				return
			}
			// On failure the reply merely arrives a little later.
			raw.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1) })
			return
		case interface{ NetConn() net.Conn }:
			c = inner.NetConn()
		default:
			return
		}
	}
}
