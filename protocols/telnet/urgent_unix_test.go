//go:build unix

package telnet

import (
	"syscall"

	"github.com/urlget/urlget/internal/testserver/telnetd"
)

// sendUrgent sends s with its last octet urgent.
func sendUrgent(c *telnetd.Conn, s string) {
	socket(c.Conn).Control(func(fd uintptr) { syscall.Sendto(int(fd), []byte(s), syscall.MSG_OOB, nil) })
}
