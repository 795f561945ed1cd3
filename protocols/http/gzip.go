package http

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"strings"

	"github.com/klauspost/compress/flate"
)

// A gzipReader decodes gzip (RFC 1952): all members up to the end of its source, or to data that are
// not a member. It accepts header
// fields of any length, while compress/gzip refuses those above 512 bytes.
type gzipReader struct {
	src      *bufio.Reader
	flate    io.Reader // nil before the first member
	inMember bool      // a member
	sum      hash.Hash32
	size     uint32 // of the decoded member, modulo 2^32
}

var (
	errGzipHeader = errors.New("malformed gzip header")
	errGzipSum    = errors.New("gzip checksum mismatch")
)

// gzipMagic begins a member (RFC 1952, section 2.3.1).
const gzipMagic = "\x1f\x8b"

// Flags of a member (RFC 1952, section 2.3.1).
const (
	gzipHeaderSum = 1 << 1
	gzipExtra     = 1 << 2
	gzipName      = 1 << 3
	gzipComment   = 1 << 4
	gzipReserved  = 7 << 5
)

func newGzipReader(src *bufio.Reader) *gzipReader {
	return &gzipReader{src: src, sum: crc32.NewIEEE()}
}

// Read implements io.Reader. It returns io.EOF only after a complete member.
func (z *gzipReader) Read(p []byte) (int, error) {
	for {
		if !z.inMember {
			if err := z.begin(); err != nil {
				return 0, err
			}
		}
		n, err := z.flate.Read(p)
		z.sum.Write(p[:n])
		z.size += uint32(n)
		if err == io.EOF {
			err = z.end()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (z *gzipReader) begin() error {
	h := &gzipHeader{src: z.src, sum: crc32.NewIEEE()}
	if err := h.read(); err != nil {
		return noEOF(err)
	}
	z.sum.Reset()
	z.size, z.inMember = 0, true
	if z.flate == nil {
		z.flate = flate.NewReader(z.src)
		return nil
	}
	return z.flate.(flate.Resetter).Reset(z.src, nil)
}

// end checks the trailer of a member. It returns io.EOF after the last member.
func (z *gzipReader) end() error {
	z.inMember = false
	var tail [8]byte
	if _, err := io.ReadFull(z.src, tail[:]); err != nil {
		return noEOF(err)
	}
	if binary.LittleEndian.Uint32(tail[:]) != z.sum.Sum32() ||
		binary.LittleEndian.Uint32(tail[4:]) != z.size {
		return errGzipSum
	}
	next, err := z.src.Peek(len(gzipMagic))
	switch {
	case err != nil && err != io.EOF:
		return err
	case len(next) > 0 && strings.HasPrefix(gzipMagic, string(next)):
		return nil
	}
	return io.EOF
}

// A gzipHeader skips the header of a member and checks its checksum.
type gzipHeader struct {
	src *bufio.Reader
	sum hash.Hash32
}

func (h *gzipHeader) read() error {
	var head [10]byte
	begin, err := h.src.Peek(len(gzipMagic))
	if !strings.HasPrefix(gzipMagic, string(begin)) {
		return errGzipHeader // even if fewer than ten bytes follow
	}
	if err != nil && err != io.EOF {
		return err
	}
	if err := h.fill(head[:]); err != nil {
		return err
	}
	flags := head[3]
	if string(head[:2]) != gzipMagic || head[2] != 8 || flags&gzipReserved != 0 {
		return errGzipHeader
	}
	if flags&gzipExtra != 0 {
		var length [2]byte
		if err := h.fill(length[:]); err != nil {
			return err
		}
		if err := h.fill(make([]byte, binary.LittleEndian.Uint16(length[:]))); err != nil {
			return err
		}
	}
	for _, field := range [...]byte{gzipName, gzipComment} {
		if flags&field != 0 {
			if err := h.text(); err != nil {
				return err
			}
		}
	}
	if flags&gzipHeaderSum == 0 {
		return nil
	}
	want := uint16(h.sum.Sum32())
	var sum [2]byte
	if err := h.fill(sum[:]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint16(sum[:]) != want {
		return errGzipHeader
	}
	return nil
}

func (h *gzipHeader) fill(p []byte) error {
	_, err := io.ReadFull(h.src, p)
	h.sum.Write(p)
	return noEOF(err)
}

func (h *gzipHeader) text() error {
	for {
		piece, err := h.src.ReadSlice(0)
		h.sum.Write(piece)
		if err != bufio.ErrBufferFull {
			return noEOF(err)
		}
	}
}
