package serve

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/internal/atomicfile"
)

// createFile writes a file that only the user may read. It fails if the file exists, and leaves no file
// with a part of the text.
func createFile(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
	}
	return err
}

// readSmall reads a file of at most max bytes.
func readSmall(name string, max int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(text)) > max {
		err = fmt.Errorf("%s has more than %d bytes", name, max)
	}
	return text, err
}

// replaceFile replaces a file that only the user may read, atomically.
func replaceFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return atomicfile.WriteFile(name, text, 0o600)
}
