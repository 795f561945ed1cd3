// Package unnamed creates files without a name (O_TMPFILE) and links them, if the system supports it.
package unnamed

import (
	"os"
	"runtime"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Create creates a file without a name in a directory, with mode 0600. It is faster than os.OpenFile,
// which tries to add regular files to the poller.
func Create(dir string) (*os.File, error) {
	for {
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), dir), nil
		case unix.EINTR:
		default:
			return nil, &os.PathError{Op: "open", Path: dir, Err: err}
		}
	}
}

// CreateAt creates a file without a name in the open directory dir, and returns its descriptor for
// writing.
func CreateAt(dir int, perm uint32) (fd int, err error) {
	return unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, perm)
}

// linkByPath is the argument byPath of Link in LinkFile.
var linkByPath atomic.Bool

// LinkFile links a file to a name in a directory. If the name exists, the error matches fs.ErrExist.
func LinkFile(f, dir *os.File, name string) error {
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(dir)
	if err := Link(int(f.Fd()), int(dir.Fd()), name, &linkByPath); err != nil {
		return &os.LinkError{Op: "link", New: name, Err: err}
	}
	return nil
}

// Link links the open file fd to a name in the open directory dir. If the name exists, the error is
// unix.EEXIST.
//
// Linking by descriptor requires Linux 6.10 or CAP_DAC_READ_SEARCH; otherwise the kernel returns
// ENOENT. Link then uses the path in /proc and sets byPath to do so at once the next time.
func Link(fd, dir int, name string, byPath *atomic.Bool) error {
	err := error(unix.ENOENT)
	if !byPath.Load() {
		err = unix.Linkat(fd, "", dir, name, unix.AT_EMPTY_PATH)
	}
	if err != nil && err != unix.EEXIST {
		path := "/proc/self/fd/" + strconv.Itoa(fd)
		if err = unix.Linkat(unix.AT_FDCWD, path, dir, name, unix.AT_SYMLINK_FOLLOW); err == nil {
			byPath.Store(true)
		}
	}
	return err
}
