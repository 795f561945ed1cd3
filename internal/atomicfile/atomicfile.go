// Package atomicfile replaces files, so that other programs and a power failure find the old or the new one.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Replace writes a file with the given permissions. A symbolic link stays, and the file that it leads to is
// replaced. If Replace fails, the file is as before. Errors name the file as the caller does.
func Replace(name string, perm fs.FileMode, write func(io.Writer) error) error {
	path := name
	if real, err := filepath.EvalSymlinks(name); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "replace", Path: name, Err: errors.New("not a regular file")}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return &fs.PathError{Op: "create", Path: name, Err: cause(err)}
	}
	defer os.Remove(f.Name()) // without effect after the rename
	defer f.Close()
	err = write(f)
	if err == nil {
		err = errors.Join(f.Chmod(perm), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil && strings.Contains(err.Error(), f.Name()) {
		err = &fs.PathError{Op: "write", Path: name, Err: cause(err)} // the caller does not know the other
	}
	return err
}

// WriteFile is [Replace] with the whole content.
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	return Replace(name, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// cause returns an error of package os without the name of a file.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
