//go:build unix

package main

import (
	"os"
	"syscall"
)

// execQueueProgram replaces this process, so that signals and exit statuses are the program's own.
func execQueueProgram(path string, args []string) error {
	if err := syscall.Exec(path, args, os.Environ()); err != nil {
		return &os.PathError{Op: "exec", Path: path, Err: err}
	}
	return nil
}
