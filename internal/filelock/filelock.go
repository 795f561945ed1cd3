// Package filelock locks files for the process that has them open.
package filelock

import "syscall"

// A File is what can be locked.
type File interface {
	SyscallConn() (syscall.RawConn, error)
}

// Try locks a file until it is closed, also by the end of the process. It does not wait. The error
// matches errors.ErrUnsupported if the system or the file system has no such locks; else, that of the
// system if somebody else holds the lock.
func Try(f File) error { return try(f) }
