//go:build !unix

package tty

// OnResize does nothing: this system does not report changes.
func OnResize(func()) (stop func()) { return func() {} }
