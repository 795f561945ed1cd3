package ldap

import (
	"bufio"
	"io"
	"slices"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

const (
	// maxMessage limits a message, in bytes. It is enough for an entry with a few photographs.
	maxMessage = 16 << 20
	// maxElements limits the number of values, attributes and references in a message. Each needs at
	// least two bytes on the wire and more in memory.
	maxElements = 100_000
	// maxIntermediate limits the number of consecutive messages without a record.
	maxIntermediate = 1000
)

// Tags in server messages (RFC 4511, section 4).
const (
	tagInteger          = 0x02
	tagBytes            = 0x04
	tagEnumerated       = 0x0a
	tagSequence         = 0x30
	tagSet              = 0x31
	tagBindResponse     = 0x61
	tagEntry            = 0x64
	tagDone             = 0x65
	tagReference        = 0x73
	tagExtendedResponse = 0x78
	tagIntermediate     = 0x79
	tagReferral         = 0xa3 // in an LDAPResult
	tagControls         = 0xa0 // in an LDAPMessage
)

// An element is a BER value with a one-byte tag and a definite length, which is all that LDAP uses
// (RFC 4511, section 5.1).
type element struct {
	tag     byte
	content []byte
}

// A decoder reads consecutive elements. It stops at the first error.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) more() bool { return d.err == nil && len(d.rest) > 0 }

func (d *decoder) next() element {
	tag, start, n, err := parseHeader(d.rest)
	if d.err == nil && (err != nil || n > len(d.rest)-start) {
		d.err = fetch.ErrProtocol.Errorf("malformed message: truncated element")
	}
	if d.err != nil {
		return element{}
	}
	e := element{tag, d.rest[start : start+n]}
	d.rest = d.rest[start+n:]
	return e
}

func (d *decoder) expect(tag byte) []byte {
	e := d.next()
	if d.err == nil && e.tag != tag {
		d.err = fetch.ErrProtocol.Errorf("malformed message: element has tag %#x, want %#x", e.tag, tag)
	}
	if d.err != nil {
		return nil
	}
	return e.content
}

func (d *decoder) integer(tag byte) int64 {
	var n int64
	content := d.expect(tag)
	if d.err == nil && (len(content) == 0 || len(content) > 5 || content[0] >= 0x80) {
		d.err = fetch.ErrProtocol.Errorf("malformed message: integer out of range")
	}
	if d.err != nil {
		return 0
	}
	for _, c := range content {
		n = n<<8 | int64(c)
	}
	return n
}

// parseHeader parses the tag and the length of the element at the beginning of b. If b is too short,
// it returns io.ErrUnexpectedEOF, and start is the number of bytes to pass to the next call.
func parseHeader(b []byte) (tag byte, start, n int, err error) {
	if len(b) < 2 {
		return 0, 2, 0, io.ErrUnexpectedEOF
	}
	tag, length := b[0], int(b[1])
	if length < 0x80 {
		return tag, 2, length, nil
	}
	length &= 0x7f
	if tag&0x1f == 0x1f || length == 0 || length == 0x7f {
		return 0, 0, 0, fetch.ErrProtocol.Errorf("the server's response is not LDAP")
	}
	start = 2 + length
	if len(b) < start {
		return 0, start, 0, io.ErrUnexpectedEOF
	}
	var size int64
	for _, c := range b[2:start] { // possibly more octets than necessary, with leading zeros
		if size = size<<8 | int64(c); size > maxMessage {
			return 0, 0, 0, fetch.ErrProtocol.Errorf("message exceeds the limit of %d bytes", maxMessage)
		}
	}
	return tag, start, int(size), nil
}

func readHeader(r *bufio.Reader) (tag byte, n int, err error) {
	for start := 2; ; {
		b, err := r.Peek(start)
		switch {
		case len(b) == 0:
			return 0, 0, err
		case err != nil:
			return 0, 0, wire.Unexpected(err)
		}
		if tag, start, n, err = parseHeader(b); err != io.ErrUnexpectedEOF {
			r.Discard(start)
			return tag, n, err
		}
	}
}

// isBuffered reports whether the next message can be read without waiting for the server.
func isBuffered(r *bufio.Reader) bool {
	b, _ := r.Peek(r.Buffered())
	_, start, n, err := parseHeader(b)
	return err == nil && n <= len(b)-start
}

// readMessage reads the content of the next message. It reuses b if its capacity suffices. The error
// is io.EOF only if the stream ended before the message.
func readMessage(r *bufio.Reader, b []byte) ([]byte, error) {
	tag, n, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if tag != tagSequence {
		return nil, fetch.ErrProtocol.Errorf("the server's response is not LDAP")
	}
	for b = b[:0]; len(b) < n; { // memory grows with the received data, not with the announced length
		if len(b) == cap(b) {
			b = slices.Grow(b, min(n-len(b), max(len(b), 32<<10)))
		}
		got, err := io.ReadFull(r, b[len(b):min(n, cap(b))])
		if b = b[:len(b)+got]; err != nil {
			return nil, wire.Unexpected(err)
		}
	}
	return b, nil
}

// parseMessage parses an LDAPMessage (RFC 4511, section 4.1.1). Controls may be missing.
func parseMessage(content []byte) (id int64, op, controls element, err error) {
	d := &decoder{rest: content}
	id = d.integer(tagInteger)
	op = d.next()
	if d.more() {
		controls = d.next()
	}
	return id, op, controls, d.err
}

type record struct {
	dn         string
	attributes []attribute
	references []string
	continued  bool // more values for the record before
}

type attribute struct {
	name   string
	values [][]byte
}

// parseEntry parses a SearchResultEntry (RFC 4511, section 4.5.2).
func parseEntry(content []byte) (record, error) {
	d := &decoder{rest: content}
	rec := record{dn: string(d.expect(tagBytes))}
	list := &decoder{rest: d.expect(tagSequence), err: d.err}
	elements := 0
	for list.more() {
		item := &decoder{rest: list.expect(tagSequence), err: list.err}
		a := attribute{name: string(item.expect(tagBytes))}
		set := &decoder{rest: item.expect(tagSet), err: item.err}
		for set.more() {
			a.values = append(a.values, set.expect(tagBytes))
			if elements++; elements > maxElements {
				return rec, errElements
			}
		}
		if list.err = set.err; list.err == nil && !isDescription(a.name) {
			list.err = fetch.ErrProtocol.Errorf("invalid attribute name %q", a.name)
		}
		rec.attributes = append(rec.attributes, a)
		if elements++; elements > maxElements {
			return rec, errElements
		}
	}
	return rec, list.err
}

var errElements = fetch.ErrProtocol.Errorf("message exceeds %d elements", maxElements)

// isDescription reports whether s has the characters of an attribute description: a name or an OID
// with options (RFC 4512, section 2.5). Underscores are accepted because some servers use them, and
// "*" because it ends the ranges of Active Directory.
func isDescription(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '-' || c == ';' || c == '.' || c == '_' || c == '=' || c == '*'):
		default:
			return false
		}
	}
	return s != ""
}

// parseReferences parses the URLs of a SearchResultReference or Referral.
func parseReferences(content []byte) ([]string, error) {
	var urls []string
	d := &decoder{rest: content}
	for d.more() {
		urls = append(urls, wire.Text(string(d.expect(tagBytes))))
		if len(urls) > maxElements {
			return nil, errElements
		}
	}
	return urls, d.err
}
