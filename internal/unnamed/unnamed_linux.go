// Package unnamed names files that were made without a name (O_TMPFILE).
package unnamed

import (
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Link gives the file that fd is open for a name in the directory that dir is open for, unless there
// is one: then the error is unix.EEXIST.
//
// To name it by its descriptor takes Linux 6.10 or a privilege, without which the kernel says that
// there is no such file, and the longer way is by its path. That this is the way is noted in byPath.
func Link(fd, dir int, name string, byPath *atomic.Bool) error {
	err := error(unix.ENOENT)
	if !byPath.Load() {
		err = unix.Linkat(fd, "", dir, name, unix.AT_EMPTY_PATH)
	}
	if err != nil && err != unix.EEXIST {
		if err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), dir, name, unix.AT_SYMLINK_FOLLOW); err == nil {
			byPath.Store(true)
		}
	}
	return err
}
