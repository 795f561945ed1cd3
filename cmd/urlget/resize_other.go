//go:build !unix

package main

// onResize does nothing: this system does not report changes.
func onResize(func()) (stop func()) { return func() {} }
