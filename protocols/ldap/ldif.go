package ldap

import (
	"encoding/base64"
	"slices"

	"github.com/urlget/urlget/fetch"
)

// maxColumn is the length at which a line of LDIF is folded.
const maxColumn = 76

// header is the first line of LDIF (RFC 2849, page 2).
const header = "version: 1\n"

// maxPart is the approximate amount of LDIF to generate at once, in bytes.
const maxPart = 64 << 10

// ldif yields the LDIF of a record, after an empty line, in parts. References are written as
// comments, because LDIF does not provide for them.
func (rec record) ldif(yield func([]byte) bool) {
	b := []byte{'\n'}
	for _, u := range rec.references {
		b = appendFolded(b, []byte("# search reference: "+fetch.Printable(u)))
	}
	if rec.references == nil {
		b = appendValue(b, "dn", []byte(rec.dn))
	}
	for _, a := range rec.attributes {
		for _, v := range a.values {
			if b = appendValue(b, a.name, v); len(b) > maxPart {
				if !yield(b) {
					return
				}
				b = b[:0]
			}
		}
	}
	if len(b) > 0 {
		yield(b)
	}
}

// appendValue appends an attribute with one value.
func appendValue(b []byte, name string, value []byte) []byte {
	if len(value) == 0 || isSafe(value) {
		line := append([]byte(name), ':')
		if len(value) > 0 {
			line = append(append(line, ' '), value...)
		}
		return appendFolded(b, line)
	}
	// A large value is not held in a third form, in base64 without line breaks.
	l := newLine(b, len(name)+base64.StdEncoding.EncodedLen(len(value)))
	l.Write([]byte(name + ":: "))
	enc := base64.NewEncoder(base64.StdEncoding, l)
	enc.Write(value)
	enc.Close()
	return append(l.b, '\n')
}

// isSafe reports whether a value can be written without base64 (RFC 2849, SAFE-STRING and note 8).
func isSafe(value []byte) bool {
	switch value[0] {
	case ' ', ':', '<':
		return false
	}
	for _, c := range value {
		if c < ' ' || c > '~' {
			return false // allowed, but unsafe on terminals
		}
	}
	return value[len(value)-1] != ' '
}

// appendFolded appends a line.
func appendFolded(b, text []byte) []byte {
	l := newLine(b, len(text))
	l.Write(text)
	return append(l.b, '\n')
}

// A line appends what is written to it. What is too long is continued on the next line, after a
// space (RFC 2849, note 2).
type line struct {
	b      []byte
	column int
}

// newLine begins a line of about size bytes.
func newLine(b []byte, size int) *line {
	return &line{b: slices.Grow(b, size+2*(size/(maxColumn-1)+2))} // once, because lines may be large
}

func (l *line) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if l.column == maxColumn {
			l.b, l.column = append(l.b, "\n "...), 1
		}
		n := min(maxColumn-l.column, len(rest))
		l.b, l.column = append(l.b, rest[:n]...), l.column+n
		rest = rest[n:]
	}
	return len(p), nil
}
