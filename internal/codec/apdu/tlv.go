package apdu

import "fmt"

// appendInt appends a compressed integer: base 128, most significant group first, with bit 7 set in
// all bytes except the last.
func appendInt(b []byte, v uint32) []byte {
	for shift := 28; shift > 0; shift -= 7 {
		if v>>shift != 0 {
			b = append(b, byte(v>>shift)|0x80)
		}
	}
	return append(b, byte(v&0x7f))
}

func appendTLV(b []byte, tag uint32, value []byte) []byte {
	b = appendInt(b, tag)
	b = appendInt(b, uint32(len(value)))
	return append(b, value...)
}

func appendString(b []byte, tag uint32, value string) []byte {
	return appendTLV(b, tag, []byte(value))
}

// appendNumber appends a tagged number in as few bytes as possible, from 1 to 4.
func appendNumber(b []byte, tag uint32, v uint32) []byte {
	raw := [4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
	i := 0
	for i < 3 && raw[i] == 0 {
		i++
	}
	return appendTLV(b, tag, raw[i:])
}

// A reader reads the parts of a message. The first error is sticky.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(reason string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrMalformed, reason)
		r.b = nil
	}
}

// next returns the next n bytes. n may be any number from the peer.
func (r *reader) next(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(fmt.Sprintf("%d bytes announced, %d available", n, len(r.b)))
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) bigEndian(n int) uint32 {
	var v uint32
	for _, c := range r.next(uint64(n)) {
		v = v<<8 | uint32(c)
	}
	return v
}

// maxIntBytes limits the bytes of a compressed integer, including padding with 0x80 on the left.
const maxIntBytes = 10

func (r *reader) compressed() uint64 {
	var v uint64
	for i := range maxIntBytes {
		if i >= len(r.b) {
			r.fail("truncated number")
			return 0
		}
		c := r.b[i]
		if v > 1<<32 {
			break
		}
		v = v<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			r.b = r.b[i+1:]
			return v
		}
	}
	r.fail("number too large")
	return 0
}

func (r *reader) tlv() (tag uint64, value []byte) {
	tag = r.compressed()
	return tag, r.next(r.compressed())
}

// number decodes the value of a tagged number. It returns -1 for more than 4 bytes.
func number(value []byte) int64 {
	if len(value) > 4 {
		return -1
	}
	var v int64
	for _, c := range value {
		v = v<<8 | int64(c)
	}
	return v
}
