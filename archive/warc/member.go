package warc

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// errMemberEnd is returned at the end of a member. It does not leave the package.
var errMemberEnd = errors.New("the end of a member")

// A member is a separately compressed part of a file. A plain file is a single member.
type member struct {
	offset int64
	io.Reader
}

// A packing is a compression format of a file.
type packing interface {
	// next returns the next member, or io.EOF at the end of the file. The present member must have
	// been read to its end.
	next() (member, error)
	// pos returns the position in the file.
	pos() int64
	// seek moves to the next possible start of a member at or after offset. It returns io.EOF if
	// there is none.
	seek(offset int64) error
	// seekTo moves to offset, where a member must begin.
	seekTo(offset int64)
	// spans reports whether a record may consist of several members.
	spans() bool
}

// An input is a buffered file that knows its position.
type input struct {
	file io.ReaderAt
	at   int64 // position in file of the next read into buf
	buf  *bufio.Reader
	arc  bool // the file has ARC records
}

func newInput(file io.ReaderAt) *input {
	in := &input{file: file}
	in.buf = bufio.NewReaderSize((*inputSource)(in), 64<<10)
	return in
}

type inputSource input

func (in *inputSource) Read(p []byte) (int, error) {
	n, err := in.file.ReadAt(p, in.at)
	in.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (in *input) pos() int64 { return in.at - int64(in.buf.Buffered()) }

func (in *input) seekTo(offset int64) {
	in.at = offset
	in.buf.Reset((*inputSource)(in))
}

// find moves to the next position at or after offset where begins returns true. It is called with n
// bytes, or with fewer at the end of the file.
func (in *input) find(offset int64, n int, begins func([]byte) bool) error {
	in.seekTo(offset)
	for {
		p, err := in.buf.Peek(n)
		switch {
		case len(p) > 0 && begins(p):
			return nil
		case len(p) == 0:
			return err
		}
		in.buf.Discard(1)
	}
}

// plain is a file without compression.
type plain struct{ *input }

func (p plain) next() (member, error) {
	if _, err := p.buf.Peek(1); err != nil {
		return member{}, err
	}
	return member{p.pos(), p.buf}, nil
}

func (p plain) spans() bool { return false }

func (p plain) seek(offset int64) error {
	lineStart := false
	return p.find(offset, p.searchSize(), func(b []byte) bool {
		found := (b[0] == 'W' || lineStart) && p.begins(b)
		lineStart = b[0] == '\n'
		return found
	})
}

// gzipped is a file of gzip members (RFC 1952), usually one per record.
type gzipped struct {
	*input
	z *gzip.Reader
}

func (g *gzipped) next() (member, error) {
	if _, err := g.buf.Peek(1); err != nil {
		return member{}, err
	}
	offset := g.pos()
	var err error
	if g.z == nil {
		g.z, err = gzip.NewReader(g.buf)
	} else {
		err = g.z.Reset(g.buf)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return member{offset: offset}, err
	}
	g.z.Multistream(false)
	return member{offset, g.z}, nil
}

func (g *gzipped) spans() bool { return false }

func (g *gzipped) seek(offset int64) error {
	for {
		err := g.find(offset, 4, func(b []byte) bool {
			return len(b) == 4 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8 && b[3]&0xe0 == 0
		})
		if err != nil {
			return err
		}
		offset = g.pos()
		// Compressed data may look like the start of a member.
		if z, err := gzip.NewReader(io.NewSectionReader(g.file, offset, 64<<10)); err == nil {
			begin := make([]byte, g.searchSize())
			n, _ := io.ReadFull(z, begin)
			if g.begins(begin[:n]) {
				g.seekTo(offset)
				return nil
			}
		}
		offset++
	}
}
