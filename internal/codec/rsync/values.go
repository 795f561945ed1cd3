package rsync

import (
	"encoding/binary"
	"io"
	"math/bits"

	"github.com/urlget/urlget/fetch/driver/wire"
)

// AppendInt appends an integer of four bytes.
func AppendInt(b []byte, v int32) []byte { return binary.LittleEndian.AppendUint32(b, uint32(v)) }

// AppendVarint appends an integer of variable size, or of four bytes before version 30.
func AppendVarint(b []byte, protocol int, v int32) []byte {
	if protocol < 30 {
		return AppendInt(b, v)
	}
	return appendVariable(b, uint64(uint32(v)), 1)
}

// AppendLong appends an integer of shortest bytes or more or, before version 30, of four or twelve.
func AppendLong(b []byte, protocol int, v int64, shortest int) []byte {
	switch {
	case protocol >= 30:
		return appendVariable(b, uint64(v), shortest)
	case v == int64(int32(v)) && v != -1:
		return AppendInt(b, int32(v))
	}
	return binary.LittleEndian.AppendUint64(AppendInt(b, -1), uint64(v))
}

// appendVariable appends the bytes of v from the lowest one. The first byte has, in its highest bits, the
// number of bytes in addition to shortest, and below them the highest byte of v if it fits there.
func appendVariable(b []byte, v uint64, shortest int) []byte {
	size := max(shortest, (bits.Len64(v)+7)/8)
	extra := size - shortest
	head := byte(v >> (8 * (size - 1)))
	rest := size - 1
	if head >= 1<<(7-extra) {
		head, rest, extra = 0, size, extra+1
	}
	b = append(b, head|^byte(0xff>>extra))
	for i := range rest {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}

// A Decoder reads values. After a failure it returns zero values. A stream that ends within a value is
// io.ErrUnexpectedEOF.
type Decoder struct {
	Protocol int

	r   io.Reader
	err error
	buf [16]byte
}

// NewDecoder returns a Decoder that reads from r no more than it needs.
func NewDecoder(r io.Reader, protocol int) *Decoder { return &Decoder{r: r, Protocol: protocol} }

// Err returns the first error.
func (d *Decoder) Err() error { return d.err }

// Fail records an error for an invalid value, unless the decoder has failed already.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = malformed(format, args...)
	}
}

// Read reads bytes that are not a value.
func (d *Decoder) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.r.Read(p)
	d.err = wire.Unexpected(err)
	return n, d.err
}

// fixed returns the next n bytes, at most 16, or zeros.
func (d *Decoder) fixed(n int) []byte {
	b := d.buf[:n]
	if d.err == nil {
		_, err := io.ReadFull(d.r, b)
		d.err = wire.Unexpected(err)
	}
	if d.err != nil {
		clear(b)
	}
	return b
}

// Byte reads a byte.
func (d *Decoder) Byte() byte { return d.fixed(1)[0] }

// Short reads an integer of two bytes.
func (d *Decoder) Short() uint16 { return binary.LittleEndian.Uint16(d.fixed(2)) }

// Int reads an integer of four bytes.
func (d *Decoder) Int() int32 { return int32(binary.LittleEndian.Uint32(d.fixed(4))) }

// Varint reads an integer of variable size, or of four bytes before version 30.
func (d *Decoder) Varint() int32 {
	if d.Protocol < 30 {
		return d.Int()
	}
	return int32(uint32(d.variable(1, 5)))
}

// Long reads an integer of shortest bytes or more or, before version 30, of four or twelve.
func (d *Decoder) Long(shortest int) int64 {
	if d.Protocol >= 30 {
		return int64(d.variable(shortest, 9))
	}
	if v := d.Int(); v != -1 {
		return int64(v)
	}
	return int64(binary.LittleEndian.Uint64(d.fixed(8)))
}

func (d *Decoder) variable(shortest, most int) (v uint64) {
	head := d.Byte()
	extra := min(bits.LeadingZeros8(^head), 6)
	if shortest+extra > most {
		d.Fail("integer of %d bytes", shortest+extra)
		return 0
	}
	rest := d.fixed(shortest + extra - 1)
	if extra > 0 {
		head &= 0xff >> extra
	}
	if top := len(rest); top < 8 {
		v = uint64(head) << (8 * top)
	} else if head != 0 {
		d.Fail("integer of more than 64 bits")
	}
	for i, b := range rest {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// Text reads a string of size bytes, at most limit.
func (d *Decoder) Text(size int32, limit int) string {
	if size < 0 || int(size) > limit {
		d.Fail("string of %d bytes, the limit is %d", size, limit)
	}
	if d.err != nil {
		return ""
	}
	b := make([]byte, size)
	_, err := io.ReadFull(d.r, b)
	d.err = wire.Unexpected(err)
	return string(b)
}

// Sum reads the checksum of a file.
func (d *Decoder) Sum() [SumSize]byte { return [SumSize]byte(d.fixed(SumSize)) }

// File reads what AppendFile or AppendDone appends. It returns false for NDX_DONE.
func (d *Decoder) File() (file bool) {
	var index int32
	if d.Protocol >= 30 {
		index = int32(d.Byte()) - 1
	} else {
		index = d.Int()
	}
	if index == -1 || d.err != nil {
		return false
	}
	if index != 0 {
		d.Fail("index %d in a list of one file", index)
	}
	if d.Protocol >= 29 {
		if flags := d.Short(); flags&ItemTransfer == 0 || flags&(ItemNameFollows|ItemBasisFollows) != 0 {
			d.Fail("attributes %#04x of a file", flags)
		}
	}
	if head := d.fixed(emptySumHead); [emptySumHead]byte(head) != [emptySumHead]byte{} {
		d.Fail("block sums of a whole file")
	}
	return d.err == nil
}
