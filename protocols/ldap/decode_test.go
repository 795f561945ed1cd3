package ldap

import (
	"bufio"
	"bytes"
	"errors"
	"testing"

	"github.com/urlget/urlget/fetch"
)

// widen rewrites the elements of b with lengths in n octets.
func widen(b []byte, n int) (wide []byte) {
	for d := (&decoder{rest: b}); d.more(); {
		e := d.next()
		if e.tag&0x20 != 0 {
			e.content = widen(e.content, n)
		}
		size := make([]byte, n)
		for i, rest := n-1, len(e.content); rest > 0; i, rest = i-1, rest>>8 {
			size[i] = byte(rest)
		}
		wide = append(append(append(wide, e.tag, 0x80|byte(n)), size...), e.content...)
	}
	return wide
}

// TestLengthsWithLeadingZeros has lengths in more octets than necessary, as those of Active Directory
// (X.690, section 8.1.3.5).
func TestLengthsWithLeadingZeros(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 4, 5, 8, 9, 126} {
		message := widen(envelope(7, searchEntry("dc=t", "o", "x")), n)
		content, err := readMessage(bufio.NewReader(bytes.NewReader(message)), nil)
		if err != nil {
			t.Errorf("%d octets: %v", n, err)
			continue
		}
		id, op, _, err := parseMessage(content)
		rec, entryErr := parseEntry(op.content)
		if err != nil || entryErr != nil || id != 7 || rec.dn != "dc=t" || len(rec.attributes) != 1 {
			t.Errorf("%d octets: %d, %+v, %v, %v", n, id, rec, err, entryErr)
		}
	}
	for name, b := range map[string]string{
		"indefinite":      "\x30\x80\x02\x01\x01\x00\x00", // RFC 4511, section 5.1
		"reserved":        "\x30\xff" + string(make([]byte, 127)),
		"above the limit": "\x30\x89\x00\x00\x00\x00\x01\x00\x00\x00\x01",
		"beyond 64 bits":  "\x30\x89\x01\x00\x00\x00\x00\x00\x00\x00\x00",
	} {
		_, err := readMessage(bufio.NewReader(bytes.NewReader([]byte(b))), nil)
		if !errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("%s: %v, want an error of class %q", name, err, fetch.ErrProtocol)
		}
	}
}
