package unnamed_test

import (
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/urlget/urlget/internal/unnamed"
)

func TestTemporaryFilesLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, remove, err := unnamed.Temporary(dir, "x-*")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(dir); runtime.GOOS != "windows" && (err != nil || len(list) != 0) {
		t.Errorf("the directory has %v, %v, before the file is closed", list, err)
	}
	if _, err := io.WriteString(f, "content"); err != nil {
		t.Error(err)
	}
	b := make([]byte, 4)
	if n, err := f.ReadAt(b, 3); err != nil || string(b[:n]) != "tent" {
		t.Errorf("%q, %v", b[:n], err)
	}
	f.Close()
	remove()
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("the directory has %v, %v", list, err)
	}
}
