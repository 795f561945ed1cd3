//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package download

import (
	"io/fs"
	"syscall"
)

// openNonblock prevents opening a pipe from blocking. It has no effect on regular files.
const openNonblock = syscall.O_NONBLOCK

// links returns the number of hard links of a file, or 1 if it is unknown.
func links(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 1
}

// owner returns the user and the group of a file. If they are unknown, ok is false.
func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}
