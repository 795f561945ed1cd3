package ldap

import (
	"encoding/base64"
	"encoding/binary"
	"slices"

	"github.com/urlget/urlget/fetch"
)

// maxColumn is the maximum length of a line, in bytes. Longer lines are folded.
const maxColumn = 76

// header is the first line of LDIF (RFC 2849, page 2).
const header = "version: 1\n"

// maxPart is the approximate size of the LDIF to generate at once, in bytes.
const maxPart = 64 << 10

type recordWriter struct {
	record
	started          bool
	attribute, value int // indexes of the value to write next
}

// append appends an empty line and the record's LDIF to b. It stops when b exceeds maxPart and
// reports whether the record is complete. References are written as comments because LDIF has no
// syntax for them.
func (t *recordWriter) append(b []byte) (_ []byte, all bool) {
	if !t.started {
		t.started = true
		b = append(b, '\n')
		for _, u := range t.references {
			b = appendFolded(b, "# search reference", ": ", []byte(fetch.Printable(u)))
		}
		if t.references == nil {
			b = appendValue(b, "dn", []byte(t.dn))
		}
	}
	for t.attribute < len(t.attributes) {
		a := &t.attributes[t.attribute]
		switch {
		case t.value == len(a.values):
			t.attribute, t.value = t.attribute+1, 0
		case len(b) > maxPart:
			return b, false
		default:
			b = appendValue(b, a.name, a.values[t.value])
			t.value++
		}
	}
	return b, true
}

func (rec record) ldif(yield func([]byte) bool) {
	t := recordWriter{record: rec}
	var b []byte
	for all := false; !all; {
		if b, all = t.append(b[:0]); !yield(b) {
			return
		}
	}
}

func appendValue(b []byte, name string, value []byte) []byte {
	switch {
	case len(value) == 0:
		return appendFolded(b, name, ":", nil)
	case isSafe(value):
		return appendFolded(b, name, ": ", value)
	}
	l := newLine(b, len(name)+base64.StdEncoding.EncodedLen(len(value)))
	l.write([]byte(name))
	l.write([]byte(":: "))
	// Encode in chunks, so that a large value does not need another buffer.
	var chunk [4 << 10]byte
	for part := range slices.Chunk(value, base64.StdEncoding.DecodedLen(len(chunk))) {
		n := base64.StdEncoding.EncodedLen(len(part))
		base64.StdEncoding.Encode(chunk[:n], part)
		l.write(chunk[:n])
	}
	return append(l.b, '\n')
}

// isSafe reports whether a value can be written without base64 (RFC 2849, SAFE-STRING and note 8).
// It excludes control characters, which RFC 2849 allows, because they are unsafe on terminals.
func isSafe(value []byte) bool {
	switch value[0] {
	case ' ', ':', '<':
		return false
	}
	return isPrintable(value) && value[len(value)-1] != ' '
}

// isPrintable reports whether all bytes of b are between ' ' and '~'. It checks eight bytes at once:
// subtracting ' ' or adding 1 sets the high bit of the others.
func isPrintable(b []byte) bool {
	const ones = 0x0101010101010101
	for ; len(b) >= 8; b = b[8:] {
		if x := binary.LittleEndian.Uint64(b); (x|(x-ones*' ')|(x+ones))&(ones<<7) != 0 {
			return false
		}
	}
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

func appendFolded(b []byte, name, separator string, value []byte) []byte {
	l := newLine(b, len(name)+len(separator)+len(value))
	l.write([]byte(name))
	l.write([]byte(separator))
	l.write(value)
	return append(l.b, '\n')
}

// A line is folded at maxColumn: it continues on the next line after a space (RFC 2849, note 2).
type line struct {
	b      []byte
	column int
}

func newLine(b []byte, size int) line {
	return line{b: slices.Grow(b, size+2*(size/(maxColumn-1)+2))} // grow only once: lines may be large
}

func (l *line) write(p []byte) {
	for len(p) > 0 {
		if l.column == maxColumn {
			l.b, l.column = append(l.b, "\n "...), 1
		}
		n := min(maxColumn-l.column, len(p))
		l.b, l.column = append(l.b, p[:n]...), l.column+n
		p = p[n:]
	}
}
