//go:build !windows

package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

// systemPath returns the system's name for the path of a URL; a relative one
// if it is confined to a root.
func systemPath(p string, confined bool) (string, error) {
	if confined {
		return path.Join(".", p), nil
	}
	return p, nil
}

// openFile opens a file for reading without waiting for anybody, or, if it is
// a pipe that may be read, until somebody writes to it or ctx ends.
func (d *driver) openFile(ctx context.Context, name string, info fs.FileInfo) (*os.File, error) {
	if info.Mode()&fs.ModeNamedPipe == 0 {
		return d.openFlags(name, os.O_RDONLY|syscall.O_NONBLOCK)
	}
	opened := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { d.wake(name, opened) })
	f, err := d.openFlags(name, os.O_RDONLY)
	close(opened)
	if !stop() && err == nil {
		f.Close()
		return nil, context.Cause(ctx)
	}
	return f, err
}

// wake ends the waiting for a writer of the pipe, by a writer that comes and
// goes. It is tried until then, as it fails if nobody waits yet.
func (d *driver) wake(name string, opened <-chan struct{}) {
	for {
		if w, err := d.openFlags(name, os.O_WRONLY|syscall.O_NONBLOCK); err == nil {
			w.Close()
		}
		select {
		case <-opened:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (d *driver) openFlags(name string, flags int) (*os.File, error) {
	if d.Root != nil {
		return d.Root.OpenFile(name, flags, 0)
	}
	return os.OpenFile(name, flags, 0)
}

// inode returns the number by which the file system knows the file.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

// isNotDirectory reports whether a path goes through what is no directory.
func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
