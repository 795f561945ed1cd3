package warc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"sync"

	"github.com/urlget/urlget/internal/unnamed"
)

// spoolMemory is how much of a block is held in memory; what is longer goes to a file.
const spoolMemory = 64 << 10

// A Spool takes the block of a record, whose length and digest have to be known before it is
// written. Little is kept in memory, more in a file without a name. It is for one goroutine.
type Spool struct {
	dir  string
	mem  *bytes.Buffer // out of memories; nil until it is needed, and once there is a file
	file *os.File
	gone func() // removes the file
	size int64
	sum  hash.Hash
	err  error
}

// memories are buffers of spools that were closed.
var memories = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// forget gives back the memory.
func (s *Spool) forget() {
	if s.mem != nil {
		s.mem.Reset()
		memories.Put(s.mem)
		s.mem = nil
	}
}

// bytes returns what is in memory.
func (s *Spool) bytes() []byte {
	if s.mem == nil {
		return nil
	}
	return s.mem.Bytes()
}

// NewSpool returns an empty spool whose file, if it needs one, is made in dir.
func NewSpool(dir string) *Spool { return &Spool{dir: dir, sum: sha256.New()} }

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
		if s.file, s.gone, s.err = createHidden(s.dir); s.err != nil {
			return 0, s.err
		}
		if _, s.err = s.file.Write(s.bytes()); s.err != nil {
			return 0, s.err
		}
		s.forget()
	}
	var n int
	n, s.err = s.file.Write(p)
	return n, s.err
}

// createHidden makes a file that nobody finds, even if the process is killed, where the system has that.
func createHidden(dir string) (f *os.File, gone func(), err error) {
	if f, err = unnamed.Create(dir); err == nil {
		return f, func() {}, nil
	}
	if f, err = os.CreateTemp(dir, ".warc-*"); err != nil {
		return nil, nil, err
	}
	name := f.Name()
	if os.Remove(name) == nil {
		return f, func() {}, nil
	}
	return f, func() { os.Remove(name) }, nil
}

// Len returns how many bytes there are.
func (s *Spool) Len() int64 { return s.size }

// Digest returns the SHA-256 of all, as a header has it.
func (s *Spool) Digest() string { return digest(s.sum) }

func digest(sum hash.Hash) string {
	var b [sha256.Size]byte
	return string(hex.AppendEncode([]byte("sha256:"), sum.Sum(b[:0])))
}

// Reader returns a reader of the bytes from offset on. The spool must not be written to meanwhile.
func (s *Spool) Reader(offset int64) io.Reader {
	if s.file != nil {
		return io.NewSectionReader(s.file, offset, s.size-offset)
	}
	return bytes.NewReader(s.bytes()[offset:])
}

// copyTo writes all to w: from file to file the kernel does it.
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

// Close removes what was kept. The spool is of no use then.
func (s *Spool) Close() error {
	if s == nil {
		return nil
	}
	s.forget()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.gone()
	s.file = nil
	return err
}
