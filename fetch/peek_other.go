//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package fetch

import "net"

type socketPeek struct{}

// peek returns false: on this system, sockets cannot be polled without waiting.
func (*socketPeek) peek(net.Conn) (waits, known bool) { return false, false }

// ask does nothing, for the same reason.
func (*socketPeek) ask(net.Conn, func() error) (sent, known bool, err error) {
	return false, false, nil
}
