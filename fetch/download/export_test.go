package download

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// MaxCached is the number of unused directories that a Downloader keeps open.
var MaxCached = maxCached()

// Watch makes d call before ahead of each file system operation, with the names involved. If before
// returns an error, the operation is not performed and fails with that error; with ErrDone, it
// succeeds.
func Watch(d *Downloader, before func(op, name string) error) {
	d.dirs.wrap = func(dir directory) directory { return watchedDir{dir, before} }
}

// Lstat describes a file as a Downloader does.
func Lstat(d *Downloader, name string) (fs.FileInfo, error) {
	dir, err := openDir(d.Root, ".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.lstat(name)
}

// ErrDone is returned to Watch to skip an operation and let it succeed.
var ErrDone = errors.New("done")

type watchedDir struct {
	directory
	before func(op, name string) error
}

func (d watchedDir) lstat(name string) (fs.FileInfo, error) {
	if err := d.before("lstat", name); err != nil {
		return nil, err
	}
	return d.directory.lstat(name)
}

func (d watchedDir) isAbsent(name string) bool {
	return d.before("lstat", name) == nil && d.directory.isAbsent(name)
}

func (d watchedDir) open(name string, flag int, perm fs.FileMode) (file, error) {
	op := "open"
	if flag&os.O_CREATE != 0 {
		op = "create"
	}
	if err := d.before(op, name); err != nil {
		return nil, err
	}
	f, err := d.directory.open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return watchedFile{f, name, d.before}, nil
}

func (d watchedDir) unnamed() (unnamedFile, error) {
	if err := d.before("unnamed", ""); err != nil {
		return nil, err
	}
	f, err := d.directory.unnamed()
	if err != nil {
		return nil, err
	}
	return watchedUnnamed{f, d.before}, nil
}

// watch calls do if before returns nil.
func watch(before func(op, name string) error, op, name string, do func() error) error {
	switch err := before(op, name); err {
	case nil:
		return do()
	case ErrDone:
		return nil
	default:
		return err
	}
}

func (d watchedDir) rename(from, to string) error {
	return watch(d.before, "rename", from+" "+to, func() error { return d.directory.rename(from, to) })
}

func (d watchedDir) renameNew(from, to string) error {
	return watch(d.before, "renameNew", from+" "+to, func() error { return d.directory.renameNew(from, to) })
}

func (d watchedDir) link(from, to string) error {
	return watch(d.before, "link", from+" "+to, func() error { return d.directory.link(from, to) })
}

func (d watchedDir) remove(name string) error {
	return watch(d.before, "remove", name, func() error { return d.directory.remove(name) })
}

func (d watchedDir) chtimes(name string, modTime time.Time) error {
	return watch(d.before, "chtimes", name, func() error { return d.directory.chtimes(name, modTime) })
}

func (d watchedDir) sync() error { return watch(d.before, "sync", ".", d.directory.sync) }

func (d watchedDir) syncFileSystem() error {
	return watch(d.before, "syncFileSystem", "", d.directory.syncFileSystem)
}

// device reports the opening of a directory, after which it is called once.
func (d watchedDir) device() uint64 {
	d.before("open", ".")
	return d.directory.device()
}

func (d watchedDir) Close() error { return watch(d.before, "close", ".", d.directory.Close) }

type watchedFile struct {
	file
	name   string
	before func(op, name string) error
}

func (f watchedFile) Read(p []byte) (n int, err error) {
	err = watch(f.before, "read", f.name, func() error { n, err = f.file.Read(p); return err })
	return n, err
}

func (f watchedFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = watch(f.before, "read", f.name, func() error { n, err = f.file.ReadAt(p, off); return err })
	return n, err
}

func (f watchedFile) Write(p []byte) (n int, err error) {
	err = watch(f.before, "write", f.name, func() error { n, err = f.file.Write(p); return err })
	return n, err
}

func (f watchedFile) Truncate(size int64) error {
	return watch(f.before, "truncate", f.name, func() error { return f.file.Truncate(size) })
}

func (f watchedFile) Sync() error { return watch(f.before, "sync", f.name, f.file.Sync) }

type watchedUnnamed struct {
	unnamedFile
	before func(op, name string) error
}

func (f watchedUnnamed) Write(p []byte) (n int, err error) {
	err = watch(f.before, "write", "", func() error { n, err = f.unnamedFile.Write(p); return err })
	return n, err
}

func (f watchedUnnamed) Sync() error { return watch(f.before, "sync", "", f.unnamedFile.Sync) }

func (f watchedUnnamed) chtimes(modTime time.Time) error {
	return watch(f.before, "chtimes", "", func() error { return f.unnamedFile.chtimes(modTime) })
}

func (f watchedUnnamed) link(name string) error {
	return watch(f.before, "link", name, func() error { return f.unnamedFile.link(name) })
}
