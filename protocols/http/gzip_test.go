package http

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"
)

// member returns a gzip member with header fields.
func member(flags byte, fields, content string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, content)
	w.Close()
	whole := b.Bytes()
	head := append([]byte{0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255}, fields...)
	if flags&gzipHeaderSum != 0 {
		head = binary.LittleEndian.AppendUint16(head, uint16(crc32.ChecksumIEEE(head)))
	}
	return append(head, whole[10:]...)
}

func TestGzip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("c", 100_000) + "\x00"
	plain := member(0, "", "abc")
	damaged := func(i int) []byte {
		b := bytes.Clone(plain)
		b[(len(b)+i)%len(b)] ^= 1
		return b
	}
	tests := []struct {
		name  string
		coded []byte
		want  string
		err   string // a part of the message
	}{
		{"plain", plain, "abc", ""},
		{"name", member(gzipName, "n\x00", "abc"), "abc", ""},
		{"long comment", member(gzipComment, long, "abc"), "abc", ""},
		{"long name and comment", member(gzipName|gzipComment, long+long, "abc"), "abc", ""},
		{"extra field", member(gzipExtra, "\x05\x00extra", "abc"), "abc", ""},
		{"all fields", member(gzipHeaderSum|gzipExtra|gzipName|gzipComment|1, "\x01\x00x"+long+long, "abc"), "abc", ""},
		{"empty", member(0, "", ""), "", ""},
		{"several members", append(append(member(0, "", "abc"), member(gzipComment, long, "")...), member(gzipName, "n\x00", "def")...), "abcdef", ""},
		{"reserved flag", member(1<<5, "", "abc"), "", "malformed"},
		{"wrong sum of the header", append(bytes.Clone(member(gzipHeaderSum, "", "abc")[:10]), append([]byte{0, 0}, plain[10:]...)...), "", "malformed"},
		{"another method", damaged(2), "", "malformed"},
		{"no magic", damaged(0), "", "malformed"},
		{"wrong sum", damaged(-8), "abc", "checksum"},
		{"wrong size", damaged(-4), "abc", "checksum"},
		{"no second member", append(bytes.Clone(plain), "xyz"...), "abc", ""},
		{"a damaged second member", append(bytes.Clone(plain), "\x1f\x8bxyz"...), "abc", "unexpected EOF"},
	}
	for _, tt := range tests {
		got, err := io.ReadAll(newGzipReader(bufio.NewReader(bytes.NewReader(tt.coded))))
		if string(got) != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(fmt.Sprint(err), tt.err) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
	whole := tests[5].coded
	for n := range whole {
		if n > 100 && n < len(whole)-30 {
			continue
		}
		if _, err := io.ReadAll(newGzipReader(bufio.NewReader(bytes.NewReader(whole[:n])))); err != io.ErrUnexpectedEOF {
			t.Errorf("the first %d bytes of %d: %v", n, len(whole), err)
		}
	}
}

func FuzzGzip(f *testing.F) {
	f.Add(member(0, "", "abc"))
	f.Add(member(gzipHeaderSum|gzipExtra|gzipName|gzipComment, "\x01\x00xname\x00comment\x00", "abc"))
	f.Add(append(member(0, "", "abc"), member(gzipName, "n\x00", "")...))
	f.Fuzz(func(t *testing.T, coded []byte) {
		got, err := io.ReadAll(io.LimitReader(newGzipReader(bufio.NewReader(bytes.NewReader(coded))), 1<<20))
		z, zerr := gzip.NewReader(bytes.NewReader(coded))
		if zerr != nil {
			return // compress/gzip accepts less
		}
		want, zerr := io.ReadAll(io.LimitReader(z, 1<<20))
		if zerr == nil && (err != nil || !bytes.Equal(got, want)) {
			t.Errorf("%d bytes, %v; compress/gzip has %d", len(got), err, len(want))
		}
	})
}
