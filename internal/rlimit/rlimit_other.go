//go:build !unix

// Package rlimit tells what the system allows a process.
package rlimit

// Files returns the maximum number of open files, or 0 if it is unknown.
func Files() int { return 0 }
