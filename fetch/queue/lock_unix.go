//go:build unix && !solaris && !aix

package queue

import (
	"os"
	"syscall"
)

// lock locks a file until it is closed; an error if somebody else has it locked.
func lock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if e := conn.Control(func(fd uintptr) { err = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) }); e != nil {
		return e
	}
	return err
}
