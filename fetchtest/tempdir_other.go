//go:build !linux

package fetchtest

// TempInMemory does nothing, because this system has no such file system that a test can rely on.
func TempInMemory() {}
