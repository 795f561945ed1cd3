package xdr

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/urlget/urlget/fetch/driver/wire"
)

const lastFragment = 1 << 31

// maxFragments limits the fragments of a record. Otherwise a record of empty fragments might never
// end.
const maxFragments = 256

// AppendRecord appends a record of one fragment to b. The function fill appends its contents.
func AppendRecord(b []byte, fill func([]byte) []byte) []byte {
	start := len(b)
	b = fill(append(b, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4)|lastFragment)
	return b
}

// ReadRecord reads a record of at most limit bytes from r. It uses buf if the record fits. The error
// is io.EOF at the end of r between two records. It matches ErrMalformed if the record is too long.
func ReadRecord(r io.Reader, buf []byte, limit int) ([]byte, error) {
	record := buf[:0]
	for n := range maxFragments {
		var head [4]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			if err == io.EOF && n > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		mark := binary.BigEndian.Uint32(head[:])
		size := int64(mark &^ lastFragment)
		if int64(len(record))+size > int64(limit) {
			return nil, fmt.Errorf("%w: record of more than %d bytes", ErrMalformed, limit)
		}
		begin := len(record)
		if room := cap(record) - begin; int64(room) < size {
			record = append(make([]byte, 0, begin+int(size)), record...)
		}
		record = record[:begin+int(size)]
		if _, err := io.ReadFull(r, record[begin:]); err != nil {
			return nil, wire.Unexpected(err)
		}
		if mark&lastFragment != 0 {
			return record, nil
		}
	}
	return nil, fmt.Errorf("%w: record of more than %d fragments", ErrMalformed, maxFragments)
}
