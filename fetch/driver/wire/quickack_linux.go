package wire

import (
	"net"
	"syscall"
)

// QuickAck asks the kernel to acknowledge the next incoming data immediately. If a server sends a
// reply in two segments, Nagle's algorithm delays the second until the first is acknowledged, which
// the kernel may delay by 40 ms. The setting is not permanent, so call QuickAck for each command.
func QuickAck(c net.Conn) {
	for {
		switch inner := c.(type) {
		case *net.TCPConn:
			raw, err := inner.SyscallConn()
			if err != nil {
				return
			}
			// If this fails, the reply only arrives a little later.
			raw.Control(func(fd uintptr) {
				syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP,
					syscall.TCP_QUICKACK, 1)
			})
			return
		case interface{ NetConn() net.Conn }:
			c = inner.NetConn()
		default:
			return
		}
	}
}
