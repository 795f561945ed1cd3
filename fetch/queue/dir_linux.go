package queue

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// nameless makes a file in a directory that has no name.
func nameless(dir string) (*os.File, error) {
	return os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR, 0o600)
}

// link gives a file a name in a directory, unless there is one.
func link(f, dir *os.File, name string) error {
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(dir)
	from := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	if err := unix.Linkat(unix.AT_FDCWD, from, int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", New: name, Err: err}
	}
	return nil
}
