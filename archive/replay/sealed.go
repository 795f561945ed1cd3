package replay

import (
	"bufio"
	"errors"
	"io"

	"github.com/urlget/urlget/archive/warc"
)

// sealedSize is the size of the buffer of a sealed body in bytes.
const sealedSize = 32 << 10

// A sealed body returns its last byte only if the body below does not end with a *warc.DamageError.
// Readers that know the length do not read further, and would not see that error.
type sealed struct {
	*bufio.Reader
	io.Closer
}

func seal(body io.ReadCloser) io.ReadCloser {
	return sealed{bufio.NewReaderSize(body, sealedSize), body}
}

func (s sealed) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	next, err := s.Peek(2)
	if len(next) == 2 {
		return s.Reader.Read(p[:min(len(p), s.Buffered()-1)])
	}
	if _, isDamage := errors.AsType[*warc.DamageError](err); isDamage || len(next) == 0 {
		return 0, err
	}
	n, _ := s.Reader.Read(p[:1])
	return n, err
}

// A section is a part of a body. It reads the rest of the body too, because the checksum or digest is
// that of the whole.
type section struct {
	io.Reader
	skip, left int64
}

func (s *section) Read(p []byte) (int, error) {
	if s.skip > 0 {
		n, err := io.CopyN(io.Discard, s.Reader, s.skip)
		if s.skip -= n; err != nil {
			return 0, err
		}
	}
	if s.left == 0 {
		if _, err := io.Copy(io.Discard, s.Reader); err != nil {
			return 0, err
		}
		return 0, io.EOF
	}
	n, err := s.Reader.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	return n, err
}
