//go:build !linux

package fetch

import "net"

// available is not implemented on this system, so splice is not used.
func available(*net.TCPConn) (n int64, known bool, err error) { return 0, false, nil }
