package http3

import (
	"bufio"
	"io"

	"github.com/quic-go/quic-go/quicvarint"
)

// Types of frames (RFC 9114, section 7.2). Those of HTTP/2 that have no meaning here are forbidden,
// and all others are skipped.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameCancelPush   = 0x3
	frameSettings     = 0x4
	framePushPromise  = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8
	frameContinuation = 0x9
	frameMaxPushID    = 0xd
)

// appendFrame appends a whole frame.
func appendFrame(to []byte, kind uint64, payload []byte) []byte {
	return append(appendFrameHeader(to, kind, len(payload)), payload...)
}

func appendFrameHeader(to []byte, kind uint64, length int) []byte {
	return quicvarint.Append(quicvarint.Append(to, kind), uint64(length))
}

// frames reads the frames of a stream.
type frames struct{ src *bufio.Reader }

// next reads the type and length of a frame. The error is io.EOF only if the stream ends before it.
func (f *frames) next() (kind, length uint64, err error) {
	if _, err := f.src.Peek(1); err != nil {
		return 0, 0, err
	}
	if kind, err = quicvarint.Read(f.src); err == nil {
		length, err = quicvarint.Read(f.src)
	}
	return kind, length, within(err)
}

// skip reads over a payload.
func (f *frames) skip(length uint64) error {
	_, err := io.CopyN(io.Discard, f.src, int64(length)) // a varint has 62 bits
	return within(err)
}

// read reads a payload, whose length was checked.
func (f *frames) read(length uint64) ([]byte, error) {
	p := make([]byte, length)
	_, err := io.ReadFull(f.src, p)
	return p, within(err)
}

// within is for errors in the midst of a frame, where the end comes too early.
func within(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
