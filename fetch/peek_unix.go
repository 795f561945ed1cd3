//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package fetch

import (
	"net"
	"syscall"
)

// A socketPeek looks at what a socket has received. It is kept, because a look would allocate all of it.
type socketPeek struct {
	raw          syscall.RawConn
	buf          [1]byte
	waits, known bool
	look         func(fd uintptr)
}

// peek reports whether the next read from c, always the same socket, would return without waiting, with
// data, the end of the stream or an error. It does not read anything. Known is false if c is not a socket.
func (s *socketPeek) peek(c net.Conn) (waits, known bool) {
	if s.look == nil {
		socket, ok := c.(syscall.Conn)
		if !ok {
			return false, false
		}
		raw, err := socket.SyscallConn()
		if err != nil {
			return false, false
		}
		s.raw, s.look = raw, s.receive
	}
	s.waits, s.known = false, true
	err := s.raw.Control(s.look)
	return s.waits || err != nil, s.known // an error means that it is closed
}

func (s *socketPeek) receive(fd uintptr) {
	for {
		_, _, err := syscall.Recvfrom(int(fd), s.buf[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		case syscall.ENOTSOCK:
			s.known = false
		default:
			s.waits = true
		}
		return
	}
}
