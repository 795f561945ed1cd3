//go:build unix

// Package rlimit tells what the system allows a process.
package rlimit

import "syscall"

// Files returns the maximum number of open files, or 0 if it is unknown.
func Files() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30))
}
