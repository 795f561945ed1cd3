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

	// These belong to ask.
	ready func(fd uintptr) bool
	send  func() error
	sent  bool
	err   error // of send
}

// peek reports whether the next read from c, always the same socket, would return without waiting, with
// data, the end of the stream or an error. It does not read anything. Known is false if c is not a socket.
func (s *socketPeek) peek(c net.Conn) (waits, known bool) {
	if !s.open(c) {
		return false, false
	}
	s.waits, s.known = false, true
	err := s.raw.Control(s.look)
	return s.waits || err != nil, s.known // an error means that it is closed
}

func (s *socketPeek) open(c net.Conn) bool {
	if s.look != nil {
		return true
	}
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	s.raw, s.look, s.ready = raw, s.receive, s.isReady
	return true
}

// ask calls send unless there is input, and then waits until there is. Sent reports whether it called send.
// Known is false if c is not a socket; ask has then done nothing.
//
// The poller remembers what arrives after the beginning of a call of raw.Read. So between the look, the
// write and the wait, no input is missed, although it is not read before the wait.
func (s *socketPeek) ask(c net.Conn, send func() error) (sent, known bool, err error) {
	if !s.open(c) {
		return false, false, nil
	}
	s.waits, s.known, s.sent, s.send, s.err = false, true, false, send, nil
	err = s.raw.Read(s.ready)
	s.send = nil
	if s.err != nil {
		err = s.err
	} else if failed, ok := err.(*net.OpError); ok {
		failed.Op = "read"
	}
	return s.sent, s.known, err
}

// isReady is called by raw.Read, and again after each wait.
func (s *socketPeek) isReady(fd uintptr) bool {
	if s.sent {
		return true
	}
	if s.receive(fd); s.waits || !s.known {
		return true
	}
	s.sent = true
	s.err = s.send()
	return s.err != nil
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
