package warc

import (
	"errors"
	"io/fs"
	"os"

	"github.com/urlget/urlget/internal/filelock"
)

// ErrInUse is wrapped by the error of Create if another Writer has the file or its index open.
var ErrInUse = errors.New("in use by another process")

// claim creates and locks a file. If resume is set, it opens and locks an existing one instead.
func (w *Writer) claim(name string, flag int, resume bool) (f *os.File, isNew bool, err error) {
	f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|flag, w.perm())
	if isNew = err == nil; !isNew {
		existing, openErr := os.OpenFile(name, os.O_RDWR|flag, 0)
		if openErr != nil {
			if resume && !errors.Is(openErr, fs.ErrNotExist) {
				err = openErr
			}
			return nil, false, err
		}
		f = existing
	}
	if lockErr := filelock.Try(f); lockErr != nil && !errors.Is(lockErr, errors.ErrUnsupported) {
		f.Close()
		return nil, false, &fs.PathError{Op: "open", Path: name, Err: ErrInUse}
	}
	if !isNew && !resume {
		return nil, false, errors.Join(err, release(f))
	}
	return f, isNew, nil
}

// release unlocks and closes a file. A child process that is being started may hold a copy of the
// descriptor, so closing alone would not unlock it at once.
func release(f *os.File) error {
	filelock.Unlock(f)
	return f.Close()
}

// abandon releases a file, if there is one, and removes it if it is new.
func abandon(f *os.File, isNew bool) error {
	if f == nil {
		return nil
	}
	removed := isNew && os.Remove(f.Name()) == nil
	err := release(f)
	if isNew && !removed { // Windows does not remove open files
		os.Remove(f.Name())
	}
	return err
}
