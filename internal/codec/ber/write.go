package ber

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Group returns a constructed value with the given values as contents.
func Group(class Class, tag uint32, values ...[]byte) []byte {
	return encode(class, true, tag, slices.Concat(values...))
}

// Field is Group for class Context.
func Field(tag uint32, values ...[]byte) []byte { return Group(Context, tag, values...) }

// Sequence is Group for a SEQUENCE.
func Sequence(values ...[]byte) []byte { return Group(Universal, TagSequence, values...) }

// Bytes returns a primitive value with the given contents.
func Bytes[T ~string | ~[]byte](class Class, tag uint32, content T) []byte {
	return encode(class, false, tag, []byte(content))
}

// String returns a string of class Context.
func String(tag uint32, s string) []byte { return Bytes(Context, tag, s) }

// Int returns an INTEGER of class Context.
func Int(tag uint32, n int64) []byte { return Bytes(Context, tag, IntContent(n)) }

// Bool returns a BOOLEAN of class Context.
func Bool(tag uint32, v bool) []byte {
	if v {
		return Bytes(Context, tag, []byte{0xff})
	}
	return Bytes(Context, tag, []byte{0})
}

// Bits returns a BIT STRING of class Context that ends with the last set bit. The arguments are the
// indexes of the set bits; there must be at least one.
func Bits(tag uint32, set ...int) []byte {
	b := make([]byte, slices.Max(set)/8+2)
	for _, i := range set {
		b[i/8+1] |= 0x80 >> (i % 8)
	}
	b[0] = byte(7 - slices.Max(set)%8)
	return Bytes(Context, tag, b)
}

// IntContent returns the contents octets of an INTEGER.
func IntContent(n int64) []byte {
	size := 1
	for v := n; v > 127 || v < -128; v >>= 8 {
		size++
	}
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(n >> (8 * (size - 1 - i)))
	}
	return b
}

var errOID = errors.New("not an object identifier")

// OIDContent returns the contents octets of an OBJECT IDENTIFIER of the form "1.2.840".
func OIDContent(oid string) ([]byte, error) {
	parts := strings.Split(oid, ".")
	if len(parts) < 2 || len(parts) > 30 {
		return nil, errOID
	}
	var b []byte
	first := uint64(0)
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || part[0] == '+' || i == 0 && n > 2 || i == 1 && first < 2 && n > 39 {
			return nil, errOID
		}
		switch i {
		case 0:
			first = n
			continue
		case 1:
			n += 40 * first
		}
		digits := []byte{byte(n & 0x7f)}
		for n >>= 7; n > 0; n >>= 7 {
			digits = append(digits, byte(n&0x7f|0x80))
		}
		slices.Reverse(digits)
		b = append(b, digits...)
	}
	if len(b) > 64 {
		return nil, errOID
	}
	return b, nil
}

// MustOID is like OIDContent but panics if oid is not an object identifier.
func MustOID(oid string) []byte {
	b, err := OIDContent(oid)
	if err != nil {
		panic("ber: " + oid + " is not an object identifier")
	}
	return b
}

func encode(class Class, constructed bool, tag uint32, content []byte) []byte {
	return append(appendHeader(make([]byte, 0, len(content)+headerSize), class, constructed, tag,
		len(content)), content...)
}

func appendHeader(b []byte, class Class, constructed bool, tag uint32, length int) []byte {
	first := byte(class) << 6
	if constructed {
		first |= 0x20
	}
	if tag < 0x1f {
		b = append(b, first|byte(tag))
	} else {
		b = append(b, first|0x1f)
		shift := 0
		for tag>>shift > 0x7f {
			shift += 7
		}
		for ; shift > 0; shift -= 7 {
			b = append(b, byte(tag>>shift)|0x80)
		}
		b = append(b, byte(tag&0x7f))
	}
	if length < 0x80 {
		return append(b, byte(length))
	}
	size := IntContent(int64(length))
	if size[0] == 0 {
		size = size[1:]
	}
	return append(append(b, 0x80|byte(len(size))), size...)
}
