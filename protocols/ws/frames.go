package ws

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch"
)

// Bits and opcodes of a frame's header (RFC 6455, section 5.2).
const (
	maskBit     = 0x80
	opcodeBits  = 0x0f
	opBinary    = 0x2 // the last opcode of data frames in use
	opClose     = 0x8
	maxControl  = 125 // bytes of payload of a control frame (section 5.5)
	sizeStatus  = 2   // bytes before the reason of a close frame
	lengthShort = 126 // two bytes with the length follow
	lengthLong  = 127 // eight bytes follow
)

// frames checks a server's frames for violations that package websocket does not notice or does not
// report to the server: masked frames (RFC 6455, section 5.1), lengths beyond the limit, which it
// would wait for, and close frames whose reason is not UTF-8 (section 7.1.6).
type frames struct {
	limit   int64  // of the payload of a data frame, in bytes
	head    []byte // of a frame, while it is incomplete
	payload uint64 // bytes that are left of the frame
	// closing is set in the payload of a close frame, of which body is the received part.
	closing bool
	body    []byte
}

// count returns the number of bytes of p before the first invalid frame, and the violation. Without
// one, it returns len(p).
func (f *frames) count(p []byte) (valid int, err error) {
	for i := 0; i < len(p); {
		if f.payload == 0 {
			if len(f.head) == 0 {
				valid = i
			}
			f.head = append(f.head, p[i])
			i++
			if err := f.header(); err != nil {
				return valid, err
			}
			continue
		}
		n := int(min(f.payload, uint64(len(p)-i)))
		if f.closing {
			f.body = append(f.body, p[i:i+n]...)
		}
		i, f.payload = i+n, f.payload-uint64(n)
		if f.closing && f.payload == 0 && len(f.body) > sizeStatus && !utf8.Valid(f.body[sizeStatus:]) {
			return valid, invalid(fetch.ErrProtocol, errCloseReason)
		}
	}
	return len(p), nil
}

// header parses the header once it is complete.
func (f *frames) header() error {
	if len(f.head) < 2 {
		return nil
	}
	if f.head[1]&maskBit != 0 {
		return invalid(fetch.ErrProtocol, errMasked)
	}
	size := map[byte]int{lengthShort: 2, lengthLong: 8}[f.head[1]]
	if len(f.head) < 2+size {
		return nil
	}
	f.payload = uint64(f.head[1])
	if size > 0 {
		f.payload = binary.BigEndian.Uint64(append(make([]byte, 8-size), f.head[2:]...))
	}
	opcode := f.head[0] & opcodeBits
	f.closing, f.body = opcode == opClose && f.payload <= maxControl, f.body[:0]
	f.head = f.head[:0]
	switch {
	case f.payload>>63 != 0:
		return invalid(fetch.ErrProtocol, errLength)
	case opcode <= opBinary && f.limit > 0 && f.payload > uint64(f.limit):
		return invalid(fetch.ErrTooLarge, errTooLong)
	}
	return nil
}

var (
	errMasked      = errors.New("the server sent a masked frame")
	errLength      = errors.New("the server sent a frame with an invalid length")
	errTooLong     = errors.New("the message is too long")
	errCloseReason = errors.New("the reason in the server's close frame is not valid UTF-8")
	errText        = errors.New("a text message is not valid UTF-8")
)

func invalid(code fetch.Code, err error) error { return &fetch.Error{Code: code, Err: err} }

// closeStatus returns the status of the close frame that ends a session after err, which is nil for
// a session without an error (RFC 6455, section 7.4.1).
func closeStatus(err error) websocket.StatusCode {
	switch code := fetch.CodeOf(err); {
	case errors.Is(err, errText), errors.Is(err, errCloseReason):
		return websocket.StatusInvalidFramePayloadData
	case code == fetch.ErrProtocol:
		return websocket.StatusProtocolError
	case code == fetch.ErrTooLarge:
		return websocket.StatusMessageTooBig
	}
	return websocket.StatusNormalClosure
}
