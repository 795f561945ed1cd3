package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// A File saves the output of a session. Its name is NAME.part until the session ends successfully.
type File struct {
	Size int64 // bytes written
	root *os.Root
	name string
	most int64

	partial string // the name until then
	part    *os.File
}

// Create creates a file in root. If most is not 0, it limits the size in bytes.
func Create(root *os.Root, name string, most int64) (*File, error) {
	partial := download.PartialName(name)
	if err := root.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, failure.File(err)
	}
	part, err := root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, failure.File(err)
	}
	return &File{root: root, name: name, most: most, partial: partial, part: part}, nil
}

// Path returns the path of the file.
func (f *File) Path() string { return filepath.Join(f.root.Name(), f.name) }

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	tooMuch := f.most > 0 && f.Size+int64(len(p)) > f.most
	if tooMuch {
		p = p[:f.most-f.Size]
	}
	n, err := f.part.Write(p)
	f.Size += int64(n)
	if err == nil && tooMuch {
		err = &fetch.Error{Code: fetch.ErrTooLarge,
			Err: fmt.Errorf("the session output is larger than %d bytes", f.most)}
	}
	return n, err
}

// End closes the file. If failed is nil, it gives the file its final name. Otherwise it returns
// failed.
func (f *File) End(failed error) error {
	if failed == nil {
		failed = failure.File(f.part.Sync())
	}
	err := failure.File(f.part.Close())
	switch {
	case failed == nil:
		failed = err
	case f.Size == 0:
		f.root.Remove(f.partial)
	}
	if failed != nil {
		if own := (*fetch.Error)(nil); errors.As(failed, &own) && own.Hint == "" && f.Size > 0 {
			own.Hint = "received data is kept in " + filepath.Join(f.root.Name(), f.partial)
		}
		return failed
	}
	if old, err := f.root.Stat(f.name); err == nil && old.Mode().IsRegular() {
		if err := f.root.Chmod(f.partial, old.Mode().Perm()); err != nil {
			return failure.File(err)
		}
	}
	return failure.File(f.root.Rename(f.partial, f.name))
}
