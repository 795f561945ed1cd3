// Package tun opens TUN devices, whose packets a program reads and writes.
package tun

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Open creates a TUN device, which has no address and is down. Closing the file removes it. If
// another program uses the name, the error is unix.EBUSY.
func Open(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	req := struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: unix.IFF_TUN | unix.IFF_NO_PI}
	copy(req.name[:], name)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF,
		uintptr(unsafe.Pointer(&req))); errno != 0 {
		unix.Close(fd)
		return nil, errno
	}
	return os.NewFile(uintptr(fd), name), nil // after TUNSETIFF, so that the file can be polled
}
