//go:build !linux

package download

import (
	"errors"
	"io/fs"
	"time"
)

const canSyncFileSystem = false

func writeOut(file, int64, int64) {}

func (d *osDir) syncFileSystem() error          { return errors.ErrUnsupported }
func (d *osDir) device() uint64                 { return 0 }
func (d *osDir) renameNew(string, string) error { return errors.ErrUnsupported }
func (d *osDir) unnamed() (unnamedFile, error)  { return nil, errors.ErrUnsupported }

func (d *osDir) open(name string, flag int, perm fs.FileMode) (file, error) {
	f, err := d.root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return f, nil
}

func (d *osDir) lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

func (d *osDir) isAbsent(name string) bool {
	_, err := d.lstat(name)
	return errors.Is(err, fs.ErrNotExist)
}

func (d *osDir) chtimes(name string, modTime time.Time) error {
	return d.root.Chtimes(name, time.Now(), modTime)
}
