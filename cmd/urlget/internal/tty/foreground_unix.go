//go:build unix

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// foreground reports whether the command may draw on the terminal: it may not in the background,
// where the shell shows its prompt.
func foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
