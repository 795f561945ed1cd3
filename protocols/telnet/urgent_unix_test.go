//go:build unix

package telnet

import (
	"syscall"

	"github.com/urlget/urlget/fetch/fetchtest/servers/telnetd"
)

// sendUrgent sends s with its last byte urgent.
func sendUrgent(c *telnetd.Conn, s string) {
	socket(c.NetConn()).Control(func(fd uintptr) { syscall.Sendto(int(fd), []byte(s), syscall.MSG_OOB, nil) })
}
