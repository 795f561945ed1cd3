//go:build !unix

package telnet

import "net"

// inlineUrgent does nothing: without the socket option, a telnet synch is not understood.
func inlineUrgent(net.Conn) {}

// urgent finds nothing.
func urgent(net.Conn) (byte, bool) { return 0, false }
