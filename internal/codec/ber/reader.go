package ber

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch/driver/wire"
)

const (
	// maxDepth limits the nesting of values in a message.
	maxDepth = 64
	// maxValues limits the number of values in a message.
	maxValues = 1 << 20
)

// ErrMalformed matches errors about invalid BER and about values of an unexpected type.
var ErrMalformed = errors.New("malformed message")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// A Class is the class of a tag.
type Class uint8

// The classes of tags (X.690, section 8.1.2.2).
const (
	Universal Class = iota
	Application
	Context
	Private
)

// Tags of class Universal (X.680, section 8.4).
const (
	TagBoolean       = 1
	TagInteger       = 2
	TagBits          = 3
	TagBytes         = 4
	TagOID           = 6
	TagExternal      = 8
	TagSequence      = 16
	TagVisible       = 26
	TagGeneralString = 27
)

// A Header holds the identifier and length octets of a value.
type Header struct {
	Class       Class
	Constructed bool // the contents are values
	Tag         uint32
	Length      int64 // of the contents, in bytes; -1 for the indefinite form
}

// Is reports whether h has class Context and the given tag. Most fields of messages are of this class.
func (h Header) Is(tag uint32) bool { return h.Class == Context && h.Tag == tag }

// IsUniversal reports whether h has class Universal and the given tag.
func (h Header) IsUniversal(tag uint32) bool { return h.Class == Universal && h.Tag == tag }

// A Reader reads values. It stops at the first error, which Err returns. A typical loop is:
//
//	for r.Message(max) {
//		switch h := r.Header(); ...
//		for h := range r.Values() {
//			switch h ...
//			n := r.Int()
//		}
//	}
//
// Unread parts of a value are skipped.
type Reader struct {
	in     *bufio.Reader
	off    int64 // number of bytes read
	values int   // in this message
	frames []frame
	cur    Header
	state  state
	end    int64 // offset of the end of cur, or of its limit if the length is indefinite
	err    error
}

// A frame is a constructed value that has been entered.
type frame struct {
	limit      int64 // the last possible offset of its end
	indefinite bool  // the length is indefinite
	atEnd      bool  // the end-of-contents octets have been read
}

type state uint8

const (
	noValue    state = iota // no current value
	atHeader                // the header has been read
	inContents              // the contents have been read in part
)

// NewReader returns a Reader that reads from in.
func NewReader(in *bufio.Reader) *Reader { return &Reader{in: in} }

// Err returns the error that stopped the Reader. It is io.EOF if the stream ended between messages
// and io.ErrUnexpectedEOF if it ended within one.
func (r *Reader) Err() error { return r.err }

// Buffered returns the number of bytes that have been received but not decoded.
func (r *Reader) Buffered() int { return r.in.Buffered() }

// Complete reports whether the last message was read completely.
func (r *Reader) Complete() bool { return r.err == nil && len(r.frames) == 0 && r.state == noValue }

// Fail sets the error of the Reader to err unless it already has one. It returns the Reader's error.
func (r *Reader) Fail(err error) error {
	if r.err == nil && err != nil {
		r.err = err
	}
	return r.err
}

// Message reads the header of the next message and skips the rest of the previous one. A message
// whose contents exceed most bytes is malformed.
func (r *Reader) Message(most int64) bool {
	for len(r.frames) > 0 && r.err == nil {
		r.Leave()
	}
	r.skip()
	if r.err != nil {
		return false
	}
	if _, err := r.in.Peek(1); err != nil {
		r.err = err // io.EOF is valid between messages
		return false
	}
	r.values = 0
	r.header(r.off + headerSize + most)
	if r.err == nil && r.cur.Length < 0 { // limit messages of indefinite length, too
		r.end = r.off + most
	}
	return r.err == nil
}

// headerSize is the size of the largest supported header, in bytes.
const headerSize = 1 + 5 + 1 + 126

// Header returns the header of the current value.
func (r *Reader) Header() Header { return r.cur }

// Enter enters the current value, which must be constructed. Next then reads the values in it.
func (r *Reader) Enter() {
	switch {
	case r.err != nil:
		return
	case r.state != atHeader || !r.cur.Constructed:
		r.Fail(malformed("value with tag %d is not constructed", r.cur.Tag))
		return
	case len(r.frames) == maxDepth:
		r.Fail(malformed("nesting exceeds %d levels", maxDepth))
		return
	}
	r.frames = append(r.frames, frame{limit: r.end, indefinite: r.cur.Length < 0})
	r.state = noValue
}

// Next reads the header of the next value in the value entered last. It reports whether there is one.
func (r *Reader) Next() bool {
	r.skip()
	if r.err != nil || len(r.frames) == 0 {
		return false
	}
	f := &r.frames[len(r.frames)-1]
	switch {
	case f.atEnd, !f.indefinite && r.off == f.limit:
		return false
	case f.indefinite && r.endMark(f.limit):
		f.atEnd = true
		return false
	case r.err != nil:
		return false
	}
	r.header(f.limit)
	return r.err == nil
}

// Leave skips the rest of the value entered last and returns to its parent.
func (r *Reader) Leave() {
	if r.err != nil || len(r.frames) == 0 {
		return
	}
	last := len(r.frames) - 1
	if f := r.frames[last]; f.indefinite {
		for r.Next() {
		}
	} else {
		r.discard(f.limit)
	}
	if r.err == nil {
		r.frames = r.frames[:last]
	}
}

// Values enters the current value, which must be constructed, and yields the headers of the values in
// it. Then it skips the rest of the value and returns to its parent.
func (r *Reader) Values() iter.Seq[Header] {
	return func(yield func(Header) bool) {
		r.Enter()
		for r.Next() && yield(r.cur) {
		}
		r.Leave()
	}
}

// endMark reads end-of-contents octets (X.690, section 8.1.5). It reports whether they came next.
func (r *Reader) endMark(limit int64) bool {
	if limit-r.off < 2 {
		r.Fail(malformed("end-of-contents octets missing"))
		return false
	}
	mark, err := r.in.Peek(2)
	switch {
	case err != nil:
		r.Fail(wire.Unexpected(err))
		return false
	case mark[0] != 0 || mark[1] != 0:
		return false
	}
	r.in.Discard(2)
	r.off += 2
	return true
}

func (r *Reader) octet(limit int64) byte {
	if r.err == nil && r.off >= limit {
		r.err = malformed("truncated header")
	}
	if r.err != nil {
		return 0
	}
	c, err := r.in.ReadByte()
	if err != nil {
		r.err = wire.Unexpected(err)
		return 0
	}
	r.off++
	return c
}

// header reads the header of a value that must end at or before limit.
func (r *Reader) header(limit int64) {
	if r.values++; r.values > maxValues {
		r.Fail(malformed("more than %d values", maxValues))
		return
	}
	first := r.octet(limit)
	h := Header{Class: Class(first >> 6), Constructed: first&0x20 != 0, Tag: uint32(first & 0x1f)}
	if h.Tag == 0x1f {
		h.Tag = 0
		for n := 0; ; n++ {
			c := r.octet(limit)
			if n == 4 && r.err == nil {
				r.err = malformed("tag too large")
			}
			if r.err != nil {
				return
			}
			h.Tag = h.Tag<<7 | uint32(c&0x7f)
			if c < 0x80 {
				break
			}
		}
	}
	h.Length = r.length(limit)
	switch {
	case r.err != nil:
		return
	case h.Length < 0 && !h.Constructed:
		r.err = malformed("primitive value with indefinite length")
		return
	case h.Length > limit-r.off:
		r.err = malformed("value of %d bytes exceeds the remaining %d bytes", h.Length, limit-r.off)
		return
	}
	r.cur, r.state, r.end = h, atHeader, limit
	if h.Length >= 0 {
		r.end = r.off + h.Length
	}
}

// length reads length octets. It returns -1 for the indefinite form.
func (r *Reader) length(limit int64) int64 {
	first := r.octet(limit)
	switch {
	case first < 0x80:
		return int64(first)
	case first == 0x80:
		return -1
	case first == 0xff:
		r.Fail(malformed("reserved form of a length"))
		return 0
	}
	var n int64
	for range first & 0x7f { // possibly more than necessary, with leading zeros
		if n >= 1<<54 {
			r.Fail(malformed("length too large"))
			return 0
		}
		n = n<<8 | int64(r.octet(limit))
	}
	return n
}

func (r *Reader) skip() {
	if r.state == noValue || r.err != nil {
		return
	}
	if r.cur.Length < 0 { // constructed, so none of its contents have been read
		r.Enter()
		r.Leave()
		return
	}
	r.discard(r.end)
}

// discard skips up to the offset end, the end of the current value or of its parent.
func (r *Reader) discard(end int64) {
	r.state = noValue
	for n := end - r.off; n > 0; n = end - r.off {
		m, err := r.in.Discard(int(min(n, 1<<20)))
		r.off += int64(m)
		if err != nil {
			r.Fail(wire.Unexpected(err))
			return
		}
	}
}

// read returns 0 and no error at the end of the contents.
func (r *Reader) read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	r.state = inContents
	left := r.end - r.off
	if left == 0 {
		r.state = noValue
		return 0, nil
	}
	n, err := r.in.Read(p[:min(int64(len(p)), left)])
	r.off += int64(n)
	if n > 0 {
		err = nil
	}
	return n, r.Fail(wire.Unexpected(err))
}

// A content reads the contents of a primitive or constructed string.
type content struct {
	r       *Reader
	depth   int // number of frames that enclose the string
	started bool
	done    bool
}

// Content returns a reader of the contents of the current value, a string. It must be read to EOF
// before the next call of a method of r.
func (r *Reader) Content() io.Reader { return &content{r: r, depth: len(r.frames)} }

func (c *content) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, c.r.err
	}
	for !c.done {
		if c.r.err != nil {
			return 0, c.r.err
		}
		if !c.started {
			c.started = true
		} else if n, err := c.r.read(p); n > 0 || err != nil {
			return n, err
		} else if c.next(); c.done {
			break
		}
		for c.r.err == nil && c.r.state == atHeader && c.r.cur.Constructed {
			c.r.Enter()
			c.next()
		}
	}
	if c.r.err != nil {
		return 0, c.r.err
	}
	return 0, io.EOF
}

func (c *content) next() {
	for c.r.err == nil && len(c.r.frames) > c.depth {
		if c.r.Next() {
			return
		}
		c.r.Leave()
	}
	c.done = true
}

// Bytes returns the contents of the current value, a string. A string longer than most bytes is
// malformed.
func (r *Reader) Bytes(most int) []byte {
	if h := r.cur; r.err == nil && h.Length > int64(most) && !h.Constructed {
		r.Fail(malformed("string of %d bytes exceeds the limit of %d bytes", h.Length, most))
	}
	b, err := io.ReadAll(io.LimitReader(r.Content(), int64(most)+1))
	if err == nil && len(b) > most {
		err = malformed("string exceeds %d bytes", most)
	}
	if r.Fail(err) != nil {
		return nil
	}
	r.state = noValue
	return b
}

// String is like Bytes but returns a string.
func (r *Reader) String(most int) string { return string(r.Bytes(most)) }

// Raw returns the encoding of the current value, including its header. All lengths are re-encoded in
// the shortest definite form. A value longer than most bytes is malformed.
func (r *Reader) Raw(most int) []byte {
	b := &limited{most: most}
	r.raw(b)
	if r.err != nil {
		return nil
	}
	return b.bytes
}

type limited struct {
	bytes []byte
	most  int
}

func (r *Reader) add(b *limited, p []byte) {
	if len(b.bytes)+len(p) > b.most {
		r.Fail(malformed("value exceeds %d bytes", b.most))
		return
	}
	b.bytes = append(b.bytes, p...)
}

func (r *Reader) raw(b *limited) {
	h := r.cur
	if !h.Constructed {
		content := r.Bytes(b.most)
		r.add(b, appendHeader(nil, h.Class, false, h.Tag, len(content)))
		r.add(b, content)
		return
	}
	inner := &limited{most: b.most - len(b.bytes)}
	r.Enter()
	for r.Next() {
		r.raw(inner)
	}
	r.Leave()
	r.add(b, appendHeader(nil, h.Class, true, h.Tag, len(inner.bytes)))
	r.add(b, inner.bytes)
}

// Int returns the current value, an INTEGER or ENUMERATED.
func (r *Reader) Int() int64 {
	b := r.Bytes(8)
	if r.err == nil && len(b) == 0 {
		r.err = malformed("empty integer")
	}
	if r.err != nil {
		return 0
	}
	n := int64(int8(b[0]))
	for _, c := range b[1:] {
		n = n<<8 | int64(c)
	}
	return n
}

// Bool returns the current value, a BOOLEAN.
func (r *Reader) Bool() bool {
	b := r.Bytes(1)
	if r.err == nil && len(b) == 0 {
		r.err = malformed("empty boolean")
	}
	return r.err == nil && b[0] != 0
}

// Bits returns the first 64 bits of the current value, a BIT STRING. Bit 0 of the string is the least
// significant bit of the result.
func (r *Reader) Bits() (set uint64) {
	b := r.Bytes(64)
	for i := 0; i+1 < len(b) && i < 8; i++ {
		for j := range 8 {
			if b[i+1]&(0x80>>j) != 0 {
				set |= 1 << (8*i + j)
			}
		}
	}
	return set
}

// OID returns the current value, an OBJECT IDENTIFIER, in the form "1.2.840".
func (r *Reader) OID() string {
	b := r.Bytes(64)
	var (
		text strings.Builder
		n    uint64
	)
	for i, c := range b {
		if n > 1<<56 || i == len(b)-1 && c >= 0x80 {
			r.Fail(malformed("truncated or oversized object identifier"))
			return ""
		}
		n = n<<7 | uint64(c&0x7f)
		if c >= 0x80 {
			continue
		}
		if text.Len() == 0 {
			root := min(n/40, 2)
			text.WriteString(strconv.FormatUint(root, 10))
			n -= 40 * root
		}
		text.WriteString("." + strconv.FormatUint(n, 10))
		n = 0
	}
	return text.String()
}
