package ber

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func reader(b []byte) *Reader { return NewReader(bufio.NewReader(bytes.NewReader(b))) }

// value returns a Reader positioned at the only value in b.
func value(t *testing.T, b []byte) *Reader {
	t.Helper()
	r := reader(b)
	if !r.Message(1 << 20) {
		t.Fatalf("% x: %v", b, r.Err())
	}
	return r
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, -1, 127, 128, -128, -129, 255, 256, 65535, 1 << 31, -1 << 31, 1<<63 - 1, -1 << 63} {
		r := value(t, Int(3, n))
		if got := r.Int(); got != n || r.Err() != nil || !r.Complete() {
			t.Errorf("%d became %d, %v", n, got, r.Err())
		}
	}
}

func TestObjectIdentifiers(t *testing.T) {
	t.Parallel()
	for oid, want := range map[string]string{"1.2.840.10003.5.10": "\x2a\x86\x48\xce\x13\x05\x0a", "2.999.3": "\x88\x37\x03", "0.0": "\x00", "2.0.4294967295": "\x50\x8f\xff\xff\xff\x7f"} {
		b, err := OIDContent(oid)
		if string(b) != want || err != nil {
			t.Errorf("%s: % x, %v", oid, b, err)
		}
		if got := value(t, Bytes(Universal, TagOID, b)).OID(); got != oid {
			t.Errorf("%s became %s", oid, got)
		}
	}
	for _, oid := range []string{"", "1", "3.1", "1.40", "1.x", "1.2.", "1.-2", "1.+2", "1.2.4294967296", strings.Repeat("1.", 40) + "1"} {
		if b, err := OIDContent(oid); !errors.Is(err, errOID) {
			t.Errorf("%s: % x, error %v", oid, b, err)
		}
	}
}

func TestTagsAndLengths(t *testing.T) {
	t.Parallel()
	for _, tag := range []uint32{0, 30, 31, 127, 128, 16383, 1<<28 - 1} {
		for _, size := range []int{0, 1, 127, 128, 255, 256, 65536} {
			r := value(t, Bytes(Private, tag, make([]byte, size)))
			if h := r.Header(); h.Tag != tag || h.Class != Private || h.Length != int64(size) || len(r.Bytes(size)) != size || r.Err() != nil {
				t.Errorf("tag %d, %d bytes: %+v, %v", tag, size, h, r.Err())
			}
		}
	}
}

// TestLengthsWithLeadingZeros has lengths in more octets than necessary (X.690, section 8.1.3.5).
func TestLengthsWithLeadingZeros(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 126; n++ {
		b := append([]byte{0x04, 0x80 | byte(n)}, make([]byte, n)...)
		b[1+n] = 3
		r := value(t, append(b, "abc"...))
		if got := r.String(3); got != "abc" || !r.Complete() {
			t.Errorf("%d octets: %q, %v", n, got, r.Err())
		}
	}
}

func TestBits(t *testing.T) {
	t.Parallel()
	for _, set := range [][]int{{0}, {0, 1, 2}, {7}, {8}, {0, 1, 7, 14}} {
		want := uint64(0)
		for _, i := range set {
			want |= 1 << i
		}
		if got := value(t, Bits(4, set...)).Bits(); got != want {
			t.Errorf("%v: %b", set, got)
		}
	}
	if b := Bits(4, 0, 1, 7); string(b) != "\x84\x02\x00\xc1" {
		t.Errorf("% x", b)
	}
}

// A constructed string is read as one string, also with nested segments and end-of-contents octets.
func TestConstructedStrings(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]string{
		"primitive":         "\x04\x06abcdef",
		"segments":          "\x24\x0a\x04\x03abc\x04\x03def",
		"indefinite length": "\x24\x80\x04\x03abc\x04\x00\x04\x03def\x00\x00",
		"nested":            "\x24\x80\x24\x80\x04\x01a\x04\x02bc\x00\x00\x24\x05\x04\x03def\x00\x00",
		"empty segments":    "\x24\x80\x24\x00\x24\x80\x00\x00\x04\x06abcdef\x00\x00",
	} {
		r := value(t, []byte(b+"\x02\x01\x05"))
		if got := r.String(6); got != "abcdef" || !r.Complete() {
			t.Errorf("%s: %q, %v", name, got, r.Err())
		}
		if !r.Message(10) || r.Int() != 5 {
			t.Errorf("%s: next value: %v", name, r.Err())
		}
		if r := value(t, []byte(b)); r.Bytes(5) != nil || !errors.Is(r.Err(), ErrMalformed) {
			t.Errorf("%s: string above the limit: %v", name, r.Err())
		}
		if r := value(t, []byte(b)); string(r.Raw(100)) == "" || !r.Complete() {
			t.Errorf("%s: raw: %v", name, r.Err())
		}
		r = value(t, []byte(b+"\x02\x01\x05"))
		if !r.Message(10) || r.Int() != 5 {
			t.Errorf("%s: skipped: %v", name, r.Err())
		}
	}
}

func TestUnreadValuesAreSkipped(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{
		Sequence(Int(1, 1), Field(2, Int(1, 9), Sequence(Int(1, 8))), Int(3, 7)),
		[]byte("\x30\x80\x81\x01\x01\xa2\x80\x81\x01\x09\x30\x80\x81\x01\x08\x00\x00\x00\x00\x83\x01\x07\x00\x00"),
	} {
		r := value(t, b)
		r.Enter()
		var tags []uint32
		for r.Next() {
			tags = append(tags, r.Header().Tag)
			if r.Header().Is(2) {
				r.Enter()
				r.Next() // reads only the first value
				r.Leave()
			}
		}
		r.Leave()
		if len(tags) != 3 || tags[2] != 3 || !r.Complete() {
			t.Errorf("% x: %v, %v", b, tags, r.Err())
		}
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	all := func(r *Reader) {
		for r.Message(1 << 20) {
			if r.Header().Constructed {
				walk(r)
			}
		}
	}
	for name, tt := range map[string]struct {
		b   string
		err error
	}{
		"larger than the message":           {"\x30\x84\x00\x20\x00\x00", ErrMalformed},
		"larger than its parent":            {"\x30\x03\x04\x02a", ErrMalformed},
		"truncated header":                  {"\x30\x01\x04", ErrMalformed},
		"no end-of-contents octets":         {"\x30\x03\x30\x80\x00", ErrMalformed},
		"primitive, indefinite length":      {"\x04\x80", ErrMalformed},
		"tag too large":                     {"\x9f\xff\xff\xff\xff\x7f\x00", ErrMalformed},
		"reserved length":                   {"\x30\xff\x01", ErrMalformed},
		"EOF within a length":               {"\x30\x89\x00", io.ErrUnexpectedEOF},
		"length with too many octets":       {"\x30\x89\x01\x00\x00\x00\x00\x00\x00\x00\x00", ErrMalformed},
		"length too large":                  {"\x30\x88\xff\xff\xff\xff\xff\xff\xff\xff", ErrMalformed},
		"endless nesting":                   {strings.Repeat("\x30\x80", 1000), ErrMalformed},
		"endless nesting, definite lengths": {strings.Repeat("\x30\x84\x00\x00\x20\x00", 1000), ErrMalformed},
		"EOF within a message":              {"\x30\x05\x04", io.ErrUnexpectedEOF},
		"EOF before end-of-contents octets": {"\x30\x80", io.ErrUnexpectedEOF},
		"EOF within a tag":                  {"\x9f\x81", io.ErrUnexpectedEOF},
		"EOF between messages":              {"\x30\x00", io.EOF},
		"too many values":                   {"\x30\x80" + strings.Repeat("\x05\x00", 1<<19), ErrMalformed},
		"indefinite length above the limit": {"\x30\x80" + strings.Repeat("\x04\x7f"+strings.Repeat("x", 127), 9000), ErrMalformed},
	} {
		r := reader([]byte(tt.b))
		all(r)
		if !errors.Is(r.Err(), tt.err) {
			t.Errorf("%s: %v, want %v", name, r.Err(), tt.err)
		}
	}
}

// walk enters the current value and skips every value in it.
func walk(r *Reader) {
	r.Enter()
	for r.Next() {
		if r.Header().Constructed {
			walk(r)
		}
	}
	r.Leave()
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("\x30\x80\x81\x01\x01\xa2\x80\x81\x01\x09\x00\x00\x24\x80\x04\x01a\x00\x00\x00\x00"), byte(0))
	f.Add(Sequence(Int(1, -5), Bits(4, 0, 9), Bytes(Universal, TagOID, MustOID("1.2.840.10003.5.10"))), byte(3))
	f.Add([]byte("\x24\x80\x24\x05\x04\x03abc\x00\x00"), byte(1))
	f.Fuzz(func(t *testing.T, b []byte, mode byte) {
		const most = 1 << 12
		r := reader(b)
		for r.Message(most) {
			before := r.off
			switch mode % 8 {
			case 0:
				visit(r, 0)
			case 1:
				if s := r.Bytes(100); len(s) > 100 {
					t.Errorf("%d bytes", len(s))
				}
			case 2:
				if raw := r.Raw(200); len(raw) > 200 {
					t.Errorf("%d bytes", len(raw))
				} else if r.Err() == nil {
					again := reader(raw)
					if !again.Message(most) || !bytes.Equal(again.Raw(300), raw) || !again.Complete() {
						t.Errorf("% x: second encoding differs: %v", raw, again.Err())
					}
				}
			case 3:
				r.OID()
			case 4:
				r.Int()
			case 5:
				io.Copy(io.Discard, r.Content())
			case 6:
				if r.Header().Constructed {
					walk(r)
				}
			}
			if n := r.off - before; n > most+headerSize {
				t.Fatalf("read a message of %d bytes", n)
			}
		}
		if r.Err() == nil {
			t.Error("no error after the last message")
		}
	})
}

// visit decodes the current value by its tag, and nested values recursively.
func visit(r *Reader, depth int) {
	h := r.Header()
	switch {
	case h.Constructed && h.Tag != TagBytes:
		r.Enter()
		for r.Next() {
			visit(r, depth+1)
		}
		r.Leave()
	case h.Tag == TagInteger:
		r.Int()
	case h.Tag == TagOID:
		r.OID()
	case h.Tag == TagBits:
		r.Bits()
	case h.Tag == TagBoolean:
		r.Bool()
	default:
		r.Bytes(1000)
	}
}
