// Package filelock locks open files against other processes.
package filelock

import "syscall"

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
