package warc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	zstdFrame      = 0xfd2fb528 // a frame (RFC 8878, section 3.1.1)
	zstdSkippable  = 0x184d2a50 // the first of sixteen skippable frames (section 3.1.2)
	zstdDictionary = 0x184d2a5d // the skippable frame with the dictionary of a WARC file
	zstdDictMagic  = 0xec30a437 // a dictionary (section 5)
)

// maxZstd limits the window of a frame and the dictionary of a file, as the specification of zstd
// in WARC permits.
const maxZstd = 8 << 20

// zstandard is a file of zstd frames. A record has one or more of them.
type zstandard struct {
	*input
	dict []byte
	z    *zstd.Decoder
}

func newZstandard(in *input) (*zstandard, error) {
	s := &zstandard{input: in}
	head, _ := in.buf.Peek(8)
	if len(head) == 8 && binary.LittleEndian.Uint32(head) == zstdDictionary {
		size := binary.LittleEndian.Uint32(head[4:])
		if size > maxZstd {
			return nil, fmt.Errorf("zstd dictionary has %d bytes; the limit is %d", size, maxZstd)
		}
		in.buf.Discard(8)
		s.dict = make([]byte, size)
		if _, err := io.ReadFull(in.buf, s.dict); err != nil {
			return nil, fmt.Errorf("truncated zstd dictionary: %w", err)
		}
		if size >= 4 && binary.LittleEndian.Uint32(s.dict) == zstdFrame {
			var err error
			if s.dict, err = unpackDictionary(s.dict); err != nil {
				return nil, fmt.Errorf("zstd dictionary: %w", err)
			}
		}
		if len(s.dict) < 8 || binary.LittleEndian.Uint32(s.dict) != zstdDictMagic {
			return nil, errors.New("invalid zstd dictionary")
		}
	}
	opts := []zstd.DOption{
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstd), zstd.WithDecodeBuffersBelow(0),
	}
	if s.dict != nil {
		opts = append(opts, zstd.WithDecoderDicts(s.dict))
	}
	var err error
	s.z, err = zstd.NewReader(nil, opts...)
	return s, err
}

func unpackDictionary(packed []byte) ([]byte, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(maxZstd), zstd.WithDecoderMaxWindow(maxZstd))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return z.DecodeAll(packed, nil)
}

func (s *zstandard) next() (member, error) {
	for {
		head, err := s.buf.Peek(8)
		if len(head) == 0 {
			return member{}, err
		}
		offset := s.pos()
		if len(head) < 8 {
			return member{offset: offset}, io.ErrUnexpectedEOF
		}
		switch magic := binary.LittleEndian.Uint32(head); {
		case magic == zstdFrame:
			err := s.z.Reset(&frame{in: s.input})
			return member{offset, s.z}, err
		case magic&^0xf == zstdSkippable:
			s.seekTo(offset + 8 + int64(binary.LittleEndian.Uint32(head[4:])))
		default:
			return member{offset: offset}, errors.New("not a zstd frame")
		}
	}
}

func (s *zstandard) spans() bool { return true }

func (s *zstandard) seek(offset int64) error {
	return s.search(offset, func(offset int64) error {
		return s.find(offset, 4, func(b []byte) bool {
			return len(b) == 4 && binary.LittleEndian.Uint32(b) == zstdFrame
		})
	}, s.try)
}

// try reports whether a record begins with the frame at the position. If the beginning of the frame is
// valid and has none, the search continues at its end.
func (s *zstandard) try() (begins bool, next int64) {
	at := s.pos()
	defer func() { s.tried += s.pos() - at }()
	f := &frame{in: s.input}
	if s.z.Reset(f) != nil {
		return false, 0
	}
	begin := make([]byte, len("WARC/"))
	n, err := io.ReadFull(s.z, begin)
	if string(begin) == "WARC/" {
		return true, 0
	}
	if n == len(begin) || err == io.EOF || err == io.ErrUnexpectedEOF {
		if _, err := io.Copy(io.Discard, f); err == nil {
			return false, s.pos()
		}
	}
	s.tried += firstRead // the search reads it again
	return false, 0
}

// A frame reads exactly one zstd frame. The decoder itself would read beyond its end.
type frame struct {
	in      *input
	inFrame bool
	sum     bool // a checksum follows the last block
	left    int  // unread bytes of the current block
	pending []byte
	last    bool
	done    bool
}

func (f *frame) Read(p []byte) (int, error) {
	for len(f.pending) == 0 && f.left == 0 {
		if f.done {
			return 0, io.EOF
		}
		if err := f.advance(); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
	if len(f.pending) > 0 {
		n := copy(p, f.pending)
		f.pending = f.pending[n:]
		return n, nil
	}
	n, err := f.in.buf.Read(p[:min(len(p), f.left)])
	f.left -= n
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// advance reads the header of the frame or of its next block to get its length.
func (f *frame) advance() error {
	switch {
	case !f.inFrame:
		f.inFrame = true
		head, err := f.take(5)
		if err != nil {
			return err
		}
		d := head[4]
		single := d>>5&1 == 1
		f.sum = d>>2&1 == 1
		n := [4]int{0, 1, 2, 4}[d&3] + [4]int{0, 2, 4, 8}[d>>6]
		if single && d>>6 == 0 {
			n++
		}
		if !single {
			n++ // the window descriptor
		}
		f.left = n
		f.pending = head
		if n > 0 {
			rest, err := f.take(n)
			if err != nil {
				return err
			}
			f.pending, f.left = append(f.pending, rest...), 0
		}
	case f.last:
		f.done = true
		if f.sum {
			f.left = 4
		}
	default:
		head, err := f.take(3)
		if err != nil {
			return err
		}
		v := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
		f.pending, f.last, f.left = head, v&1 == 1, v>>3
		if v>>1&3 == 1 {
			f.left = 1 // RLE block: a single byte
		}
	}
	return nil
}

func (f *frame) take(n int) ([]byte, error) {
	p := make([]byte, n)
	_, err := io.ReadFull(f.in.buf, p)
	return p, err
}
