package warc

import (
	"compress/bzip2"
	"io"
)

// bzipped is a file that was compressed as a whole with bzip2: a single member.
type bzipped struct{ *input }

func (b bzipped) next() (member, error) {
	if b.pos() > 0 {
		return member{}, io.EOF
	}
	if _, err := b.buf.Peek(1); err != nil {
		return member{}, err
	}
	return member{0, bzip2.NewReader(b.buf)}, nil
}

// seek finds nothing: blocks begin within a byte, and a record within a block.
func (b bzipped) seek(int64) error { return io.EOF }

func (b bzipped) spans() bool { return false }
