//go:build !unix

package main

// maxFiles returns 0, since the system has no limit of open files.
func maxFiles() int { return 0 }
