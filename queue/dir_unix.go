//go:build linux || darwin

package queue

import (
	"os"
	"syscall"
)

// Free returns the number of bytes that the user may still write to the file system of the directory.
func (d *Dir) Free() (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.name, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: d.name, Err: err}
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
