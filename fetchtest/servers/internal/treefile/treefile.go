// Package treefile reads files of an fs.FS at any offset.
package treefile

import (
	"bytes"
	"io"
	"io/fs"
)

// A File is an open file.
type File struct {
	io.ReaderAt
	io.Closer
	Size int64 // in bytes
}

// Open opens a file of tree. If the file does not implement io.ReaderAt, it is read into memory.
func Open(tree fs.FS, name string) (*File, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if r, ok := f.(io.ReaderAt); ok && info.Mode().IsRegular() {
		return &File{r, f, info.Size()}, nil
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return New(content), nil
}

// New returns a file with a content.
func New(content []byte) *File {
	return &File{bytes.NewReader(content), io.NopCloser(nil), int64(len(content))}
}

// Section returns the bytes from offset from to offset to, or fewer at the end of the file.
func (f *File) Section(from, to int64) ([]byte, error) {
	from, to = min(from, f.Size), min(to, f.Size)
	if from >= to {
		return nil, nil
	}
	p := make([]byte, to-from)
	n, err := f.ReadAt(p, from)
	if err == io.EOF {
		err = nil
	}
	return p[:n], err
}
