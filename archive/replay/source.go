package replay

import (
	"io"
	"os"
)

// A File is an archive file, which may be on a server. Name is for messages, without a password. Size is
// in bytes.
type File interface {
	io.ReaderAt
	io.Closer
	Name() string
	Size() int64
}

// A localFile may have an index next to it.
type localFile struct {
	*os.File
	size int64
}

func (f localFile) Size() int64 { return f.size }

// OpenFile opens a file on disk.
func OpenFile(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return localFile{f, info.Size()}, nil
}
