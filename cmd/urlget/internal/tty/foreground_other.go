//go:build !unix

package tty

import "os"

// foreground always returns true: this system has no process groups.
func foreground(*os.File) bool { return true }
