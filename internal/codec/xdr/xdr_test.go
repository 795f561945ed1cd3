package xdr

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestValuesRoundTrip(t *testing.T) {
	t.Parallel()
	b := AppendUint32(nil, 7)
	b = AppendUint64(b, 1<<40)
	b = AppendBool(b, true)
	b = appendFixed(b, "abcde")
	b = AppendOpaque(b, []byte{1, 2, 3})
	b = AppendOpaque(b, "")
	b = AppendBool(b, false)
	want := "\x00\x00\x00\x07" + "\x00\x00\x01\x00\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "abcde\x00\x00\x00" +
		"\x00\x00\x00\x03\x01\x02\x03\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
	if string(b) != want {
		t.Errorf("%q, want %q", b, want)
	}
	d := NewDecoder(b)
	if v := d.Uint32(); v != 7 {
		t.Error(v)
	}
	if v := d.Uint64(); v != 1<<40 {
		t.Error(v)
	}
	if !d.More() {
		t.Error("no more")
	}
	if v := d.fixed(5); string(v) != "abcde" {
		t.Errorf("%q", v)
	}
	if v := d.Opaque(3); !bytes.Equal(v, []byte{1, 2, 3}) {
		t.Errorf("%q", v)
	}
	if v := d.Text(0); v != "" {
		t.Errorf("%q", v)
	}
	if d.More() || d.Len() != 0 || d.Err() != nil {
		t.Errorf("%d bytes left, %v", d.Len(), d.Err())
	}
}

func TestDecoderErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		input string
		read  func(*Decoder)
	}{
		"a truncated number":        {"\x00\x00\x00", func(d *Decoder) { d.Uint32() }},
		"a boolean of 2":            {"\x00\x00\x00\x02", func(d *Decoder) { d.Bool() }},
		"more than the limit":       {"\x00\x00\x00\x05abcde\x00\x00\x00", func(d *Decoder) { d.Opaque(4) }},
		"a length beyond the end":   {"\xff\xff\xff\xffabcd", func(d *Decoder) { d.Opaque(1 << 30) }},
		"padding that is not there": {"\x00\x00\x00\x05abcde\x00", func(d *Decoder) { d.Opaque(5) }},
		"Fail by the caller":        {"", func(d *Decoder) { d.Fail("type %d", 9) }},
	} {
		d := NewDecoder([]byte(tt.input))
		tt.read(d)
		if !errors.Is(d.Err(), ErrMalformed) {
			t.Errorf("%s: error %v", name, d.Err())
		}
		if v := d.Uint32(); v != 0 || d.Len() != 0 {
			t.Errorf("%s: %d, %d bytes left after the failure", name, v, d.Len())
		}
	}
}

func TestRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	whole := AppendRecord(nil, func(b []byte) []byte { return append(b, "one"...) })
	whole = AppendRecord(whole, func(b []byte) []byte { return b })
	whole = append(whole, "\x00\x00\x00\x02tw\x00\x00\x00\x00\x80\x00\x00\x01o"...)
	for _, buf := range [][]byte{nil, make([]byte, 2), make([]byte, 100)} {
		r := bytes.NewReader(whole)
		for _, want := range []string{"one", "", "two"} {
			if got, err := ReadRecord(r, buf, 3); string(got) != want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		}
		if _, err := ReadRecord(r, buf, 3); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
	if _, err := ReadRecord(bytes.NewReader(whole), nil, 2); !errors.Is(err, ErrMalformed) {
		t.Errorf("too long: %v", err)
	}
	if _, err := ReadRecord(strings.NewReader(strings.Repeat("\x00", 1<<20)), nil, 2); !errors.Is(err, ErrMalformed) {
		t.Errorf("empty fragments: %v", err)
	}
	two := whole[len(whole)-15:]
	for n := 1; n < len(two); n++ {
		if _, err := ReadRecord(bytes.NewReader(two[:n]), nil, 9); err != io.ErrUnexpectedEOF {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte("\x80\x00\x00\x03one"), 10)
	f.Add([]byte("\x00\x00\x00\x02tw\x00\x00\x00\x00\x80\x00\x00\x01o"), 3)
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		limit = min(max(limit, 0), 1<<16)
		record, err := ReadRecord(bytes.NewReader(b), nil, limit)
		if err != nil {
			return
		}
		if len(record) > limit || cap(record) > 2*limit+64 {
			t.Errorf("%d bytes in a record of at most %d", len(record), limit)
		}
		again := AppendRecord(nil, func(b []byte) []byte { return append(b, record...) })
		if got, err := ReadRecord(bytes.NewReader(again), nil, limit); !bytes.Equal(got, record) || err != nil {
			t.Errorf("%q, %v, want %q", got, err, record)
		}
	})
}
