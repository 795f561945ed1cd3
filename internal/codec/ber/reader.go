package ber

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxDepth is how deep values may be nested in a message.
	maxDepth = 64
	// maxValues is how many values a message may have.
	maxValues = 1 << 20
)

// ErrMalformed is matched by the errors for what is not BER, or not what was due.
var ErrMalformed = errors.New("malformed message")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// A Class is the class of a tag.
type Class uint8

// The classes.
const (
	Universal Class = iota
	Application
	Context
	Private
)

// Tags of class Universal.
const (
	TagBoolean       = 1
	TagInteger       = 2
	TagBits          = 3
	TagBytes         = 4
	TagNull          = 5
	TagOID           = 6
	TagExternal      = 8
	TagSequence      = 16
	TagVisible       = 26
	TagGeneralString = 27
)

// A Header is what stands before the content of a value.
type Header struct {
	Class       Class
	Constructed bool // the content is values
	Tag         uint32
	Length      int64 // of the content, in bytes; -1 if it has an end mark instead
}

// Is reports whether h is of the class Context, which most fields of messages are, with this tag.
func (h Header) Is(tag uint32) bool { return h.Class == Context && h.Tag == tag }

// IsUniversal reports whether h is of class Universal, with this tag.
func (h Header) IsUniversal(tag uint32) bool { return h.Class == Universal && h.Tag == tag }

// A Reader reads values. After an error there are no more: Err tells it. It is used thus:
//
//	for r.Message(max) {
//		switch h := r.Header(); ...
//		r.Enter()
//		for r.Next() {
//			switch h := r.Header(); ...
//			n := r.Int()
//		}
//		r.Leave()
//	}
//
// What is not read of a value is skipped.
type Reader struct {
	in     *bufio.Reader
	off    int64 // bytes read so far
	values int   // in this message
	frames []frame
	cur    Header
	state  state
	end    int64 // of the content of cur, if its length is known
	err    error
}

// A frame is a constructed value that was entered, or the limits of a message.
type frame struct {
	limit int64 // where it ends at the latest
	open  bool  // an end mark ends it
	ended bool  // it has come
}

// state is how much of the current value was read.
type state uint8

const (
	none   state = iota // there is no current value
	fresh               // its header
	partly              // a part of its content
)

// NewReader returns a Reader of what comes from in.
func NewReader(in *bufio.Reader) *Reader { return &Reader{in: in} }

// Err returns the error that ended reading. It is io.EOF if the stream has ended between messages,
// and io.ErrUnexpectedEOF if it has within one.
func (r *Reader) Err() error { return r.err }

// Buffered returns how many bytes have arrived and not been read.
func (r *Reader) Buffered() int { return r.in.Buffered() }

// Whole reports whether all of the last message was read.
func (r *Reader) Whole() bool { return r.err == nil && len(r.frames) == 0 && r.state == none }

// Fail makes err the error of the Reader, unless there is one, and returns that.
func (r *Reader) Fail(err error) error {
	if r.err == nil && err != nil {
		r.err = err
	}
	return r.err
}

// Message begins the next message, which may have most bytes of content. What is left of the one
// before is skipped.
func (r *Reader) Message(most int64) bool {
	for len(r.frames) > 0 && r.err == nil {
		r.Leave()
	}
	r.skip()
	if r.err != nil {
		return false
	}
	if _, err := r.in.Peek(1); err != nil {
		r.err = err // io.EOF: between messages it is no surprise
		return false
	}
	r.values = 0
	r.header(r.off + headerSize + most)
	if r.err == nil && r.cur.Length < 0 { // it could go on for ever
		r.end = r.off + most
	}
	return r.err == nil
}

// headerSize is that of the largest header.
const headerSize = 1 + 5 + 1 + 8

// Header returns that of the current value.
func (r *Reader) Header() Header { return r.cur }

// Enter goes into the current value, so that Next finds the values in it.
func (r *Reader) Enter() {
	switch {
	case r.err != nil:
		return
	case r.state != fresh || !r.cur.Constructed:
		r.Fail(malformed("a value of tag %d holds no values", r.cur.Tag))
		return
	case len(r.frames) == maxDepth:
		r.Fail(malformed("values are nested deeper than %d", maxDepth))
		return
	}
	r.frames = append(r.frames, frame{limit: r.end, open: r.cur.Length < 0})
	r.state = none
}

// Next reads the header of the next value in the one that was entered. It reports false if there is
// none.
func (r *Reader) Next() bool {
	r.skip()
	if r.err != nil || len(r.frames) == 0 {
		return false
	}
	f := &r.frames[len(r.frames)-1]
	switch {
	case f.ended, !f.open && r.off == f.limit:
		return false
	case f.open && r.endMark(f.limit):
		f.ended = true
		return false
	case r.err != nil:
		return false
	}
	r.header(f.limit)
	return r.err == nil
}

// Leave skips what is left of the value that was entered last, and goes back to what it is in.
func (r *Reader) Leave() {
	if r.err != nil || len(r.frames) == 0 {
		return
	}
	last := len(r.frames) - 1
	if f := r.frames[last]; f.open {
		for r.Next() {
		}
	} else {
		r.discard(f.limit)
	}
	if r.err == nil {
		r.frames = r.frames[:last]
	}
}

// endMark reads the end of a value of indefinite length, if it comes now.
func (r *Reader) endMark(limit int64) bool {
	if limit-r.off < 2 {
		r.Fail(malformed("a value has no end"))
		return false
	}
	mark, err := r.in.Peek(2)
	switch {
	case err != nil:
		r.Fail(unexpected(err))
		return false
	case mark[0] != 0 || mark[1] != 0:
		return false
	}
	r.in.Discard(2)
	r.off += 2
	return true
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// octet reads a byte of a header.
func (r *Reader) octet(limit int64) byte {
	if r.err == nil && r.off >= limit {
		r.err = malformed("a header is cut off")
	}
	if r.err != nil {
		return 0
	}
	c, err := r.in.ReadByte()
	if err != nil {
		r.err = unexpected(err)
		return 0
	}
	r.off++
	return c
}

// header reads a header, of a value that ends at limit or before.
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
				r.err = malformed("a tag is too large")
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
		r.err = malformed("a value without values has no length")
		return
	case h.Length > limit-r.off:
		r.err = malformed("a value of %d bytes stands where %d are left", h.Length, limit-r.off)
		return
	}
	r.cur, r.state, r.end = h, fresh, limit
	if h.Length >= 0 {
		r.end = r.off + h.Length
	}
}

// length reads a length; -1 stands for an indefinite one.
func (r *Reader) length(limit int64) int64 {
	first := r.octet(limit)
	switch {
	case first < 0x80:
		return int64(first)
	case first == 0x80:
		return -1
	case first > 0x88:
		r.Fail(malformed("a length is too long"))
		return 0
	}
	var n uint64
	for range first & 0x7f {
		n = n<<8 | uint64(r.octet(limit))
	}
	if n > 1<<62 {
		r.Fail(malformed("a length is too large"))
		return 0
	}
	return int64(n)
}

// skip reads what is left of the current value.
func (r *Reader) skip() {
	if r.state == none || r.err != nil {
		return
	}
	if r.cur.Length < 0 { // content() leaves no such value half read
		r.Enter()
		r.Leave()
		return
	}
	r.discard(r.end)
}

// discard reads up to end, which is that of the current value or of what it is in.
func (r *Reader) discard(end int64) {
	r.state = none
	for n := end - r.off; n > 0; n = end - r.off {
		m, err := r.in.Discard(int(min(n, 1<<20)))
		r.off += int64(m)
		if err != nil {
			r.Fail(unexpected(err))
			return
		}
	}
}

// read reads from the content of the current value, which has no values in it. At its end it
// returns 0 and no error.
func (r *Reader) read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	r.state = partly
	left := r.end - r.off
	if left == 0 {
		r.state = none
		return 0, nil
	}
	n, err := r.in.Read(p[:min(int64(len(p)), left)])
	r.off += int64(n)
	if n > 0 {
		err = nil
	}
	return n, r.Fail(unexpected(err))
}

// A content reads a string, in segments or not.
type content struct {
	r     *Reader
	depth int // of the frames outside of the string
	begun bool
	done  bool
}

// Content returns a reader of the content of the current value, which is a string. It must be read
// to its end before the Reader goes on.
func (r *Reader) Content() io.Reader { return &content{r: r, depth: len(r.frames)} }

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, c.r.err
	}
	for !c.done {
		if c.r.err != nil {
			return 0, c.r.err
		}
		if !c.begun {
			c.begun = true
		} else if n, err := c.r.read(p); n > 0 || err != nil {
			return n, err
		} else if c.next(); c.done {
			break
		}
		for c.r.err == nil && c.r.state == fresh && c.r.cur.Constructed {
			c.r.Enter()
			c.next()
		}
	}
	if c.r.err != nil {
		return 0, c.r.err
	}
	return 0, io.EOF
}

// next goes to the next segment.
func (c *content) next() {
	for c.r.err == nil && len(c.r.frames) > c.depth {
		if c.r.Next() {
			return
		}
		c.r.Leave()
	}
	c.done = true
}

// Bytes returns the content of the current value, which is a string of at most most bytes.
func (r *Reader) Bytes(most int) []byte {
	if h := r.cur; r.err == nil && h.Length > int64(most) && !h.Constructed {
		r.Fail(malformed("a string of %d bytes, where %d are the most", h.Length, most))
	}
	b, err := io.ReadAll(io.LimitReader(r.Content(), int64(most)+1))
	if err == nil && len(b) > most {
		err = malformed("a string of more than %d bytes", most)
	}
	if r.Fail(err) != nil {
		return nil
	}
	r.state = none
	return b
}

// String is Bytes as a string.
func (r *Reader) String(most int) string { return string(r.Bytes(most)) }

// Raw returns the current value, from its header on, of at most most bytes. It is as it came, but
// for lengths that could be shorter, end marks and strings in segments.
func (r *Reader) Raw(most int) []byte {
	b := &limited{most: most}
	r.raw(b)
	if r.err != nil {
		return nil
	}
	return b.bytes
}

// limited collects what may be no more than most bytes.
type limited struct {
	bytes []byte
	most  int
}

func (r *Reader) add(b *limited, p []byte) {
	if len(b.bytes)+len(p) > b.most {
		r.Fail(malformed("a value of more than %d bytes", b.most))
		return
	}
	b.bytes = append(b.bytes, p...)
}

// raw adds the current value to b.
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

// Int returns the current value, which is a number.
func (r *Reader) Int() int64 {
	b := r.Bytes(8)
	if r.err == nil && len(b) == 0 {
		r.err = malformed("a number without digits")
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

// Bool returns the current value, which is true or false.
func (r *Reader) Bool() bool {
	b := r.Bytes(1)
	if r.err == nil && len(b) == 0 {
		r.err = malformed("a boolean without a value")
	}
	return r.err == nil && b[0] != 0
}

// Bits reports of the current value, which is a string of bits, which of the first 64 are set. Bit 0
// is the lowest of the result.
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

// OID returns the current value, which is an object identifier, in the form "1.2.840".
func (r *Reader) OID() string {
	b := r.Bytes(64)
	var (
		text strings.Builder
		n    uint64
	)
	for i, c := range b {
		if n > 1<<56 || i == len(b)-1 && c >= 0x80 {
			r.Fail(malformed("an object identifier without an end"))
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
