package servers_test

import (
	"io"
	"io/fs"
	"sync/atomic"
)

// A countingFS counts the bytes that are read from its files, and the open files.
type countingFS struct {
	fs.FS
	read, open atomic.Int64
}

func (c *countingFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	c.open.Add(1)
	return &countedFile{f, c}, nil
}

type countedFile struct {
	fs.File
	fs *countingFS
}

func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.fs.read.Add(int64(n))
	return n, err
}

func (f *countedFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.(io.ReaderAt).ReadAt(p, offset)
	f.fs.read.Add(int64(n))
	return n, err
}

func (f *countedFile) Close() error {
	f.fs.open.Add(-1)
	return f.File.Close()
}
