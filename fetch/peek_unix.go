//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package fetch

import (
	"net"
	"syscall"
)

// peek reports whether the next read from a socket would return without waiting, with data, the end
// of the stream or an error. It does not read anything. Known is false if c is not a socket.
func peek(c net.Conn) (waits, known bool) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false, false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false, false
	}
	var buf [1]byte
	known = true
	err = raw.Control(func(fd uintptr) {
		for {
			_, _, err := syscall.Recvfrom(int(fd), buf[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			switch err {
			case syscall.EINTR:
				continue
			case syscall.EAGAIN:
			case syscall.ENOTSOCK:
				known = false
			default:
				waits = true
			}
			return
		}
	})
	return waits || err != nil, known // an error means that it is closed
}
