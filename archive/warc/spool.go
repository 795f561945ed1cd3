package warc

import (
	"bytes"
	"io"
	"os"
	"sync"

	"github.com/urlget/urlget/archive/internal/digest"
	"github.com/urlget/urlget/internal/unnamed"
)

// spoolMemory is the maximum length of a block in memory, in bytes.
const spoolMemory = 64 << 10

// A Spool buffers the block of a record, because its length and digest must be known before it is
// written. Short blocks are held in memory, longer ones in a temporary file. A Spool is not safe
// for concurrent use.
type Spool struct {
	dir    string
	mem    *bytes.Buffer // from memories; nil if empty or if there is a file
	file   *os.File
	remove func() // removes the file
	size   int64
	sum    *digest.Hasher // nil after Close
	err    error
}

var memories = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (s *Spool) releaseMemory() {
	if s.mem != nil {
		s.mem.Reset()
		memories.Put(s.mem)
		s.mem = nil
	}
}

func (s *Spool) bytes() []byte {
	if s.mem == nil {
		return nil
	}
	return s.mem.Bytes()
}

// newSpool returns an empty Spool. dir is the directory of its temporary file.
func newSpool(dir string) *Spool { return &Spool{dir: dir, sum: digest.NewHasher()} }

// Write implements io.Writer.
func (s *Spool) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	s.size += int64(len(p))
	s.sum.Write(p)
	if s.file == nil && len(s.bytes())+len(p) <= spoolMemory {
		if s.mem == nil {
			s.mem = memories.Get().(*bytes.Buffer)
		}
		return s.mem.Write(p)
	}
	if s.file == nil {
		if s.file, s.remove, s.err = unnamed.Temporary(s.dir, ".warc-*"); s.err != nil {
			return 0, s.err
		}
		if _, s.err = s.file.Write(s.bytes()); s.err != nil {
			return 0, s.err
		}
		s.releaseMemory()
	}
	var n int
	n, s.err = s.file.Write(p)
	return n, s.err
}

// Len returns the length in bytes.
func (s *Spool) Len() int64 { return s.size }

// Digest returns the SHA-256 of the block in the format of WARC headers. It must be called before Close.
func (s *Spool) Digest() string { return s.sum.String() }

// ReadAt implements io.ReaderAt.
func (s *Spool) ReadAt(p []byte, offset int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, offset)
	}
	n := copy(p, s.bytes()[min(offset, int64(len(s.bytes()))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Reader returns a reader of the bytes from offset on. The Spool must not be written to while the
// reader is in use.
func (s *Spool) Reader(offset int64) io.Reader {
	if s.file != nil {
		return io.NewSectionReader(s.file, offset, s.size-offset)
	}
	return bytes.NewReader(s.bytes()[offset:])
}

// copyTo writes the block to w. From file to file, the kernel copies.
func (s *Spool) copyTo(w io.Writer) (int64, error) {
	if s.file == nil {
		n, err := w.Write(s.bytes())
		return int64(n), err
	}
	if f, ok := w.(*os.File); ok {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		return io.Copy(f, io.LimitReader(s.file, s.size))
	}
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{s.Reader(0)}, make([]byte, 256<<10))
}

// Err returns the error of an earlier Write, such as that of a full disk.
func (s *Spool) Err() error { return s.err }

// Close releases the memory and removes the temporary file.
func (s *Spool) Close() error {
	if s == nil || s.sum == nil {
		return nil
	}
	s.sum.Free()
	s.sum = nil
	s.releaseMemory()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.remove()
	s.file = nil
	return err
}
