//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"fmt"
	"syscall"
)

func try(f File) error {
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
	if held != nil && held != syscall.EWOULDBLOCK {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, held)
	}
	return held
}
