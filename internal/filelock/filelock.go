// Package filelock locks open files against other processes.
package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A File is an open file, such as an *os.File.
type File interface {
	SyscallConn() (syscall.RawConn, error)
}

// Try locks f until Unlock, or until it is closed or the process ends. It does not wait. If the system
// or the file system does not support locks, the error matches errors.ErrUnsupported. If another open
// file holds the lock, it is the system's error.
func Try(f File) error { return try(f) }

// Unlock unlocks f. Closing f also unlocks it, but not as long as a child process, which has not started
// its program yet, has a copy of the descriptor.
func Unlock(f File) { unlock(f) }

// patience limits the wait of Guard for other processes.
const patience = 5 * time.Second

// Guard waits for the lock of the processes that change the file at path, and returns a function that
// releases it. The lock is that of a hidden empty file beside it, because the file itself may be replaced.
// It is removed with the lock. After five seconds, or if no lock can be had, Guard returns without one.
func Guard(path string) (unlock func()) {
	dir, base := filepath.Split(path)
	name := dir + "." + base + ".lock"
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			break
		}
		if err = Try(f); err == nil && isAt(f, name) || errors.Is(err, errors.ErrUnsupported) {
			return func() {
				if info, err := f.Stat(); err == nil && info.Size() == 0 { // else it is another's
					os.Remove(name) // fails on Windows, as long as the file is open
				}
				f.Close()
			}
		}
		f.Close()
	}
	return func() {}
}

// isAt reports whether f was not removed by the process that held the lock before.
func isAt(f *os.File, name string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(name)
	return err == nil && os.SameFile(opened, now)
}
