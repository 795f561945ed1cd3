package warc

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// errMemberEnd is what reading a member ends with. It does not leave the package.
var errMemberEnd = errors.New("the end of a member")

// A member is a part of a file that is compressed by itself. A plain file has one.
type member struct {
	offset int64
	io.Reader
}

// A packing is how a file is compressed.
type packing interface {
	// next returns the member that begins behind the one that was read. It returns io.EOF at the end
	// of the file. The position behind a member is known once all of it was read.
	next() (member, error)
	// pos returns where the file was read to.
	pos() int64
	// seek goes to the next place at or behind offset where a member may begin, and io.EOF if there
	// is none.
	seek(offset int64) error
	// spans reports whether a record may take several members.
	spans() bool
}

// An input is a file that is read from some place on, and knows where it is.
type input struct {
	file io.ReaderAt
	at   int64 // of what buf reads next from file
	buf  *bufio.Reader
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

// find goes to the next place at or behind offset where begins reports true of what is there: n
// bytes, fewer at the end of the file.
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

// plain is a file that is not compressed.
type plain struct{ *input }

func (p plain) next() (member, error) {
	if _, err := p.buf.Peek(1); err != nil {
		return member{}, err
	}
	return member{p.pos(), p.buf}, nil
}

func (p plain) spans() bool { return false }

func (p plain) seek(offset int64) error {
	return p.find(offset, 6, func(b []byte) bool {
		return len(b) == 6 && string(b[:5]) == "WARC/" && '0' <= b[5] && b[5] <= '9'
	})
}

// gzipped is a file of gzip members (RFC 1952), mostly one a record.
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
		// Compressed bytes may look like the beginning of a member.
		if z, err := gzip.NewReader(io.NewSectionReader(g.file, offset, 64<<10)); err == nil {
			var begin [5]byte
			if _, err := io.ReadFull(z, begin[:]); err == nil && string(begin[:]) == "WARC/" {
				g.seekTo(offset)
				return nil
			}
		}
		offset++
	}
}
