//go:build !unix

package telnet

import "net"

// inlineUrgent does nothing. Without the socket option, a telnet synch is not recognized.
func inlineUrgent(net.Conn) {}

func urgent(net.Conn) (byte, bool) { return 0, false }
