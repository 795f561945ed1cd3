//go:build unix

package telnet

import (
	"net"
	"syscall"

	"github.com/urlget/urlget/fetch"
)

// inlineUrgent keeps urgent bytes in the stream. The data mark of a telnet synch is one (RFC 854);
// without it, the IAC before it would consume the next byte.
func inlineUrgent(conn net.Conn) {
	if raw := socket(conn); raw != nil {
		raw.Control(func(fd uintptr) {
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_OOBINLINE, 1)
		})
	}
}

// urgent waits for input and returns its urgent byte, if there is one. It must be called before
// Read, which drops that byte. The wait ends with the deadline of the connection, and the next Read
// returns the error.
func urgent(conn net.Conn) (c byte, ok bool) {
	raw := socket(conn)
	if raw == nil {
		return 0, false
	}
	buf := make([]byte, 1)
	raw.Read(func(fd uintptr) bool {
		if n, _, err := syscall.Recvfrom(int(fd), buf, syscall.MSG_OOB); err == nil && n == 1 {
			c, ok = buf[0], true
			return true
		}
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		return err != syscall.EAGAIN
	})
	return c, ok
}

func socket(conn net.Conn) syscall.RawConn {
	if c, ok := conn.(*fetch.Conn); ok {
		conn = c.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}
