package warc

import (
	"bufio"
	"bytes"
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
	most int  // limits the next read into buf, in bytes
	arc  bool // the file has ARC records
	// tried is how many bytes seek has read to try whether a member begins.
	tried int64
}

// The first read after a jump is short, so that jumps are cheap. Each read is twice as long as the one
// before. Sizes are in bytes.
const (
	firstRead = 4 << 10
	inputSize = 64 << 10
)

func newInput(file io.ReaderAt) *input {
	in := &input{file: file, most: firstRead}
	in.buf = bufio.NewReaderSize((*inputSource)(in), inputSize)
	return in
}

type inputSource input

func (in *inputSource) Read(p []byte) (int, error) {
	n, err := in.file.ReadAt(p[:min(len(p), in.most)], in.at)
	in.at += int64(n)
	in.most = min(2*in.most, inputSize)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (in *input) pos() int64 { return in.at - int64(in.buf.Buffered()) }

func (in *input) seekTo(offset int64) {
	if ahead := offset - in.pos(); ahead >= 0 && ahead <= int64(in.buf.Buffered()) {
		in.buf.Discard(int(ahead))
		return
	}
	in.at, in.most = offset, firstRead
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

// trialFactor and trialSlack (in bytes) limit what a search reads of data that only looks like a member
// with a record: that factor of what the search has passed, and the slack. Beyond it, such data is
// passed over, so that the cost of a search is linear.
const (
	trialFactor = 8
	trialSlack  = 1 << 20
)

// search moves to the next member at or after offset that begins a record. Find moves to the next
// possible one at or after a position. Try reports whether a record begins at the position, and if none
// does, where the search continues.
func (in *input) search(offset int64, find func(int64) error, try func() (begins bool, next int64)) error {
	from, before := offset, in.tried
	for {
		if err := find(offset); err != nil {
			return err
		}
		at := in.pos()
		offset = at + 1
		if in.tried-before > trialSlack+trialFactor*(at-from) {
			continue
		}
		begins, next := try()
		if begins {
			in.seekTo(at)
			return nil
		}
		offset = max(offset, next)
	}
}

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
	z     *gzip.Reader
	trial *gzip.Reader // of seek
	from  int64        // position after the last jump
	ahead *readahead   // nil until enough members have been read in order
}

func (g *gzipped) next() (member, error) {
	offset := g.pos()
	if g.ahead == nil && offset-g.from >= sequentialBytes {
		g.ahead = newReadahead(g.input, offset)
	}
	if m, ok := g.ahead.take(offset); ok {
		g.input.seekTo(m.end)
		return member{offset, bytes.NewReader(m.data)}, nil
	}
	return g.inflate()
}

// seekTo moves to offset and stops reading ahead.
func (g *gzipped) seekTo(offset int64) {
	g.ahead.close()
	g.ahead, g.from = nil, offset
	g.input.seekTo(offset)
}

func (g *gzipped) inflate() (member, error) {
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

// gzipMagic begins a member with the only compression method there is (RFC 1952, section 2.3.1).
var gzipMagic = []byte{0x1f, 0x8b, 8}

// findMagic moves to the next gzipMagic at or after offset, or to the end of the file.
func (g *gzipped) findMagic(offset int64) error {
	g.input.seekTo(offset)
	for {
		if _, err := g.buf.Peek(len(gzipMagic) + 1); err != nil { // no member begins in the rest
			g.buf.Discard(g.buf.Buffered())
			return err
		}
		p, _ := g.buf.Peek(g.buf.Buffered())
		i := bytes.Index(p, gzipMagic)
		if i >= 0 {
			g.buf.Discard(i)
			return nil
		}
		g.buf.Discard(len(p) - len(gzipMagic) + 1)
	}
}

// maxTrial limits what is read of a member to see whether it begins a record, in bytes.
const maxTrial = 8 << 10

func (g *gzipped) seek(offset int64) error { return g.search(offset, g.findMagic, g.try) }

// try reports whether a record begins with the member at the position. If the member is complete and
// has none, the next one begins at its end. Compressed data may look like the start of a member.
func (g *gzipped) try() (begins bool, next int64) {
	head, _ := g.buf.Peek(maxTrial)
	if len(head) <= len(gzipMagic) || head[len(gzipMagic)]&0xe0 != 0 { // reserved flags
		return false, 0
	}
	src := bytes.NewReader(head)
	defer func() { g.tried += src.Size() - int64(src.Len()) }()
	var err error
	if g.trial == nil {
		g.trial, err = gzip.NewReader(src)
	} else {
		err = g.trial.Reset(src)
	}
	if err != nil {
		return false, 0
	}
	g.trial.Multistream(false) // a record does not continue in the next member
	begin := make([]byte, g.searchSize())
	n, _ := io.ReadFull(g.trial, begin)
	if g.begins(begin[:n]) {
		return true, 0
	}
	if n, err := g.trial.Read(begin[:1]); n == 0 && err == io.EOF {
		return false, g.pos() + src.Size() - int64(src.Len())
	}
	return false, 0
}
