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

// systemPath returns the name of the file on this system for the path of a URL. It is relative if
// it is confined to a root.
func systemPath(p string, confined bool) (string, error) {
	if confined {
		return path.Join(".", p), nil
	}
	return p, nil
}

// openFile opens a file for reading without blocking. For a pipe it waits until there is a writer
// or ctx is done.
func (d *opener) openFile(ctx context.Context, name string, info fs.FileInfo) (*os.File, error) {
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

// wake ends the wait for a writer of the pipe by opening it for writing. That fails if no reader
// waits yet, so it is repeated until opened is closed.
func (d *opener) wake(name string, opened <-chan struct{}) {
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

func (d *opener) openFlags(name string, flags int) (*os.File, error) {
	if d.Root != nil {
		return d.Root.OpenFile(name, flags, 0)
	}
	return os.OpenFile(name, flags, 0)
}

func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

func isWithoutBlocks(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Blocks == 0
}

func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
