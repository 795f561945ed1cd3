// Package unnamed makes files without a name (O_TMPFILE), and names them, where the system can.
package unnamed

import (
	"os"
	"runtime"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Create makes a file without a name in a directory, for reading and writing by the user alone.
func Create(dir string) (*os.File, error) {
	return os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR, 0o600)
}

// CreateAt makes a file without a name, for writing, in the directory that dir is open for, and
// returns its descriptor.
func CreateAt(dir int, perm uint32) (fd int, err error) {
	return unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, perm)
}

// linkByPath is noted by LinkFile for Link.
var linkByPath atomic.Bool

// LinkFile gives a file a name in a directory, unless there is one.
func LinkFile(f, dir *os.File, name string) error {
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(dir)
	if err := Link(int(f.Fd()), int(dir.Fd()), name, &linkByPath); err != nil {
		return &os.LinkError{Op: "link", New: name, Err: err}
	}
	return nil
}

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
