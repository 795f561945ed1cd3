package fetch

import (
	"net"
	"syscall"
	"unsafe"
)

// available waits until a connection has input, and returns the number of bytes, which is 0 at the
// end of the stream. Known is false if that cannot be determined.
func available(tcp *net.TCPConn) (n int64, known bool, err error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, true, err
	}
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		var first [1]byte
		got, _, errno := syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		for errno == syscall.EINTR {
			got, _, errno = syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		}
		switch {
		case errno == syscall.EAGAIN:
			return false
		case errno != nil:
			failure = &net.OpError{Op: "read", Net: "tcp", Source: tcp.LocalAddr(), Addr: tcp.RemoteAddr(),
				Err: errno}
		case got > 0:
			var queued int32
			_, _, code := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ,
				uintptr(unsafe.Pointer(&queued)))
			known = code == 0 && queued > 0
			n = int64(queued)
			return true
		}
		known = true
		return true
	})
	if err == nil {
		err = failure
	}
	return n, known || err != nil, err
}
