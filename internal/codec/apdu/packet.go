package apdu

import (
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The errors of this package.
var (
	// ErrEmpty is the error for a packet without content. A server sends one if it could not read
	// the request, or if the response does not fit in its buffer.
	ErrEmpty     = errors.New("empty WAIS packet")
	ErrMalformed = errors.New("malformed WAIS message")
)

// maxPacket limits the content of a packet, in bytes. Existing servers send at most 100,000.
const maxPacket = 512 << 10

// HeaderSize is the size of a packet header, in bytes.
const HeaderSize = 25

// maxSkip limits the bytes skipped before a header.
const maxSkip = 1024

// WritePacket writes an APDU as a packet without compression or encoding.
func WritePacket(w io.Writer, apdu []byte) error {
	packet := make([]byte, 0, HeaderSize+len(apdu))
	packet = fmt.Appendf(packet, "%010dz2%-10s  0", len(apdu), "wais")
	_, err := w.Write(append(packet, apdu...))
	return err
}

// ReadPacket reads a packet and returns its APDU. Like other WAIS clients, it skips bytes before the
// first "0", with which every header begins. The error matches ErrEmpty for a packet without content
// and ErrMalformed for a malformed packet. It is io.EOF only if the stream ends before a packet.
func ReadPacket(r io.Reader) ([]byte, error) {
	var header [HeaderSize]byte
	for skipped := 0; header[0] != '0'; skipped++ {
		if skipped > maxSkip {
			return nil, fmt.Errorf("%w: no packet header", ErrMalformed)
		}
		if _, err := io.ReadFull(r, header[:1]); err != nil {
			if skipped > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	if _, err := io.ReadFull(r, header[1:]); err != nil {
		return nil, unexpectedEOF(err)
	}
	n, err := strconv.ParseUint(string(header[:10]), 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: packet length %q", ErrMalformed, header[:10])
	case header[10]|0x20 != 'z':
		return nil, fmt.Errorf("%w: packet of type %q", ErrMalformed, header[10])
	case header[22] != ' ' || header[23] != ' ':
		return nil, fmt.Errorf("%w: unrequested compression %q or encoding %q", ErrMalformed,
			header[22], header[23])
	case n > maxPacket:
		return nil, fmt.Errorf("%w: packet of %d bytes", ErrMalformed, n)
	case n == 0:
		return nil, ErrEmpty
	}
	apdu := make([]byte, n)
	if _, err := io.ReadFull(r, apdu); err != nil {
		return nil, unexpectedEOF(err)
	}
	return apdu, nil
}

func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
