package ldap

import (
	"encoding/base64"

	"github.com/urlget/urlget/fetch"
)

// maxColumn is the length of a line of LDIF, after which it is folded.
const maxColumn = 76

// header is the first line of LDIF (RFC 2849, page 2).
const header = "version: 1\n"

// appendRecord appends a record as LDIF, with an empty line in front. LDIF has
// no place for references, so they are comments.
func appendRecord(b []byte, rec record) []byte {
	b = append(b, '\n')
	for _, u := range rec.references {
		b = appendFolded(b, []byte("# search reference: "+fetch.Printable(u)))
	}
	if rec.references != nil {
		return b
	}
	b = appendValue(b, "dn", []byte(rec.dn))
	for _, a := range rec.attributes {
		for _, v := range a.values {
			b = appendValue(b, a.name, v)
		}
	}
	return b
}

// appendValue appends an attribute with one value.
func appendValue(b []byte, name string, value []byte) []byte {
	line := append([]byte(name), ':')
	switch {
	case len(value) == 0:
	case isSafe(value):
		line = append(append(line, ' '), value...)
	default:
		line = base64.StdEncoding.AppendEncode(append(line, ':', ' '), value)
	}
	return appendFolded(b, line)
}

// isSafe reports whether a value can stand as it is (RFC 2849, SAFE-STRING and
// note 8).
func isSafe(value []byte) bool {
	switch value[0] {
	case ' ', ':', '<':
		return false
	}
	for _, c := range value {
		if c < ' ' || c > '~' {
			return false // controls are allowed, but not on terminals
		}
	}
	return value[len(value)-1] != ' '
}

// appendFolded appends a line. What is too long for one continues on the next,
// after a blank (RFC 2849, note 2).
func appendFolded(b, line []byte) []byte {
	width := maxColumn
	for len(line) > width {
		b = append(append(b, line[:width]...), "\n "...)
		line, width = line[width:], maxColumn-1
	}
	return append(append(b, line...), '\n')
}
