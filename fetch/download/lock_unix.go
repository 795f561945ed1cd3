//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package download

import (
	"os"
	"syscall"
)

// lock takes f for this transfer until it is closed. It does not wait.
func lock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var held error
	if err := conn.Control(func(fd uintptr) {
		held = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
	}); err != nil {
		return err
	}
	if held == syscall.EWOULDBLOCK {
		return held
	}
	return nil // a file system without locks is no reason to refuse
}
