//go:build unix

package main

import (
	"os"
	"syscall"
)

// execCompanion replaces this process, so that signals and exit statuses are the companion's own.
func execCompanion(path string, args []string) error {
	if err := syscall.Exec(path, args, os.Environ()); err != nil {
		return &os.PathError{Op: "exec", Path: path, Err: err}
	}
	return nil
}
