//go:build !unix

package main

// onResize does nothing: this system does not tell of changes.
func onResize(func()) (stop func()) { return func() {} }
