//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"fmt"
	"syscall"
)

func try(f File) error {
	held, err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return err
	}
	if held != nil && held != syscall.EWOULDBLOCK {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, held)
	}
	return held
}

func unlock(f File) { flock(f, syscall.LOCK_UN) }

func flock(f File, how int) (result, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	err = conn.Control(func(fd uintptr) { result = syscall.Flock(int(fd), how) })
	return result, err
}
