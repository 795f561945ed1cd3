// Package xdr encodes and decodes values in the External Data Representation (RFC 4506), and reads
// and writes the records in which ONC RPC sends them over TCP (RFC 5531, section 11).
package xdr

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by the errors for invalid data.
var ErrMalformed = errors.New("malformed XDR")

// AppendUint32 appends an unsigned integer, or an enumeration (sections 4.2 and 4.3).
func AppendUint32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

// AppendUint64 appends an unsigned hyper integer (section 4.5).
func AppendUint64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

// AppendBool appends a boolean (section 4.4).
func AppendBool(b []byte, v bool) []byte {
	if v {
		return AppendUint32(b, 1)
	}
	return AppendUint32(b, 0)
}

// appendFixed appends opaque data of fixed length (section 4.9).
func appendFixed[T string | []byte](b []byte, v T) []byte {
	b = append(b, v...)
	return append(b, zeros[:padding(len(v))]...)
}

// AppendOpaque appends opaque data of variable length, or a string (sections 4.10 and 4.11).
func AppendOpaque[T string | []byte](b []byte, v T) []byte {
	return appendFixed(AppendUint32(b, uint32(len(v))), v)
}

var zeros [3]byte

// padding returns the number of bytes that pad n bytes to a multiple of four.
func padding(n int) int { return -n & 3 }

// A Decoder reads values from a byte slice. After a failure it returns zero values. Byte slices that
// it returns alias the input.
type Decoder struct {
	rest []byte
	err  error
}

// NewDecoder returns a Decoder that reads from b.
func NewDecoder(b []byte) *Decoder { return &Decoder{rest: b} }

// Err returns the first error, which wraps ErrMalformed.
func (d *Decoder) Err() error { return d.err }

// Len returns the number of unread bytes.
func (d *Decoder) Len() int { return len(d.rest) }

// Fail records an error for an invalid value, unless the decoder has failed already.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
	d.rest = nil
}

func (d *Decoder) next(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.rest) {
		d.Fail("unexpected end of data")
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

// Uint32 reads an unsigned integer or an enumeration.
func (d *Decoder) Uint32() uint32 {
	if b := d.next(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads an unsigned hyper integer.
func (d *Decoder) Uint64() uint64 {
	if b := d.next(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// Bool reads a boolean. It fails unless the value is 0 or 1.
func (d *Decoder) Bool() bool {
	switch v := d.Uint32(); v {
	case 0, 1:
		return v == 1
	default:
		d.Fail("invalid boolean %d", v)
	}
	return false
}

// fixed ignores the values of the padding, because some senders do not clear it.
func (d *Decoder) fixed(n int) []byte {
	b := d.next(n)
	d.next(padding(n))
	if d.err != nil {
		return nil
	}
	return b
}

// Opaque reads opaque data of variable length. It fails if there are more than limit bytes.
func (d *Decoder) Opaque(limit int) []byte {
	n := d.Uint32()
	if uint64(n) > uint64(limit) {
		d.Fail("%d bytes of opaque data, the limit is %d", n, limit)
		return nil
	}
	return d.fixed(int(n))
}

// Text reads a string of at most limit bytes. The bytes need not be UTF-8.
func (d *Decoder) Text(limit int) string { return string(d.Opaque(limit)) }

// More reads the boolean before optional data or before the next element of a list (section 4.19).
func (d *Decoder) More() bool { return d.Bool() && d.err == nil }
