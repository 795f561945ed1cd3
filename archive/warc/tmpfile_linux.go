package warc

import (
	"os"

	"golang.org/x/sys/unix"
)

// tmpfile makes a file that never has a name.
func tmpfile(dir string) (*os.File, error) {
	return os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR, 0o600)
}
