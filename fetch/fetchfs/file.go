package fetchfs

import (
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/urlget/urlget/fetch"
)

type info struct {
	name    string
	size    int64
	mode    fs.FileMode
	modTime time.Time
	sys     any
}

func metaInfo(name string, m *fetch.Meta, size int64) info {
	return info{name: path.Base(name), size: size, mode: 0o444, modTime: m.ModTime, sys: m}
}

func dirInfo(name string, modTime time.Time) info {
	return info{name: path.Base(name), mode: fs.ModeDir | 0o555, modTime: modTime}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.modTime }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return i.sys } // a *fetch.Meta, or nil

type dirEntry struct {
	fsys  *FS
	entry fetch.Entry
	name  string
	path  string
}

func (d *dirEntry) Name() string               { return d.name }
func (d *dirEntry) IsDir() bool                { return d.entry.Kind == fetch.EntryListing }
func (d *dirEntry) String() string             { return fs.FormatDirEntry(d) }
func (d *dirEntry) Info() (fs.FileInfo, error) { return d.fsys.Stat(d.path) }

// Entry returns the entry of the listing, whose size and time may be missing or rounded.
func (d *dirEntry) Entry() fetch.Entry { return d.entry }

func (d *dirEntry) Type() fs.FileMode {
	if d.IsDir() {
		return fs.ModeDir
	}
	return 0
}

type file struct {
	name     string
	resource *fetch.Resource
}

// Stat returns the metadata from the time when the file was opened. If the server did not report the
// size, Stat reads up to 32 MiB to determine it. These bytes can still be read.
func (f *file) Stat() (fs.FileInfo, error) {
	size, err := f.resource.Measure(maxMeasured)
	if err != nil {
		return nil, f.fail("stat", err)
	}
	return metaInfo(f.name, f.resource.Meta(), size), nil
}

func (f *file) Read(p []byte) (int, error) {
	n, err := f.resource.Read(p)
	return n, f.fail("read", err)
}

func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.resource.ReadAt(p, offset)
	return n, f.fail("read", err)
}

func (f *file) Seek(offset int64, whence int) (int64, error) {
	n, err := f.resource.Seek(offset, whence)
	return n, f.fail("seek", err)
}

// WriteTo calls the WriteTo of the resource. Errors of w are returned unchanged.
func (f *file) WriteTo(w io.Writer) (int64, error) { return f.resource.WriteTo(w) }

func (f *file) Close() error { return f.resource.Close() }

func (f *file) fail(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// A directory is an open listing that has been read completely.
type directory struct {
	info info
	name string
	left []fs.DirEntry
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *directory) Close() error               { return nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errDir}
}

func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.left)
	} else if len(d.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.left))
	list := d.left[:n:n]
	d.left = d.left[n:]
	return list, nil
}

var (
	_ fs.ReadDirFile = (*directory)(nil)
	_ io.ReadSeeker  = (*file)(nil)
	_ io.ReaderAt    = (*file)(nil)
	_ io.WriterTo    = (*file)(nil)
)
