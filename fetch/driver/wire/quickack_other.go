//go:build !linux

package wire

import "net"

// QuickAck does nothing: only Linux has this option.
func QuickAck(net.Conn) {}
