package queue

import (
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/urlget/urlget/internal/unnamed"
)

// nameless makes a file in a directory that has no name.
func nameless(dir string) (*os.File, error) {
	return os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR, 0o600)
}

// linkByPath is noted by unnamed.Link.
var linkByPath atomic.Bool

// link gives a file a name in a directory, unless there is one.
func link(f, dir *os.File, name string) error {
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(dir)
	if err := unnamed.Link(int(f.Fd()), int(dir.Fd()), name, &linkByPath); err != nil {
		return &os.LinkError{Op: "link", New: name, Err: err}
	}
	return nil
}
