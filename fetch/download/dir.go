package download

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// A directory is an open directory with the file system operations that the package uses. Names are
// single path elements. Symbolic links are not followed.
type directory interface {
	lstat(name string) (fs.FileInfo, error)
	// isAbsent reports whether there is certainly no file of that name. It is faster than lstat.
	isAbsent(name string) bool
	// read returns up to n names in the directory.
	read(n int) ([]string, error)
	// open is like os.OpenFile.
	open(name string, flag int, perm fs.FileMode) (file, error)
	// unnamed creates a file without a name. Where the system cannot create or link one, the error
	// matches errors.ErrUnsupported, also from the methods of the file.
	unnamed() (unnamedFile, error)
	rename(from, to string) error
	// renameNew renames a file unless the new name exists. Where the system cannot do that
	// atomically, the error matches errors.ErrUnsupported.
	renameNew(from, to string) error
	link(from, to string) error
	remove(name string) error
	chtimes(name string, modTime time.Time) error

	sync() error           // makes the names durable
	syncFileSystem() error // makes everything in the file system durable, if the system can
	device() uint64        // identifies the file system
	Close() error
}

type file interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Chmod(mode fs.FileMode) error
	Chown(uid, gid int) error
	Sync() error
	SyscallConn() (syscall.RawConn, error)
}

type unnamedFile interface {
	io.WriteCloser
	Sync() error
	chtimes(modTime time.Time) error
	modTime() (time.Time, error)
	link(name string) error
}

func openRegular(dir directory, name string, flag int) (file, error) {
	named, err := dir.lstat(name)
	if err != nil {
		return nil, err
	}
	refused := &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	if !named.Mode().IsRegular() {
		return nil, refused
	}
	f, err := dir.open(name, flag|openNonblock, 0) // because it may be a pipe by now
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(named, opened) {
		err = refused
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

type osDir struct {
	root   *os.Root // the directory is its "."
	own    bool     // close root together with the directory
	handle *os.File
	named  atomic.Bool // unnamed files are not supported
	byPath atomic.Bool // they cannot be linked by their descriptor
}

func openDir(root *os.Root, path string) (_ directory, err error) {
	d := &osDir{root: root}
	if path != "." {
		if d.root, err = root.OpenRoot(path); err != nil {
			return nil, err
		}
		d.own = true
	}
	if d.handle, err = d.root.Open("."); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *osDir) Close() error {
	var err error
	if d.handle != nil {
		err = d.handle.Close()
	}
	if d.own {
		err = errors.Join(err, d.root.Close())
	}
	return err
}

func (d *osDir) rename(from, to string) error { return d.root.Rename(from, to) }
func (d *osDir) link(from, to string) error   { return d.root.Link(from, to) }
func (d *osDir) remove(name string) error     { return d.root.Remove(name) }

// sync makes a best effort: some directories cannot be synced.
func (d *osDir) sync() error {
	err := d.handle.Sync()
	if runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
