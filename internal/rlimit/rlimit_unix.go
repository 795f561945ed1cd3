//go:build unix

package main

import "syscall"

// maxFiles returns the maximum number of open files of the process, or 0 if it is unknown.
func maxFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30))
}
