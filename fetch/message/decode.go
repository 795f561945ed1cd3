package message

import (
	"bufio"
	"encoding/base64"
	"io"
	"strings"
)

// decodeTransfer decodes a transfer encoding (RFC 2045, section 6). If the encoding is unknown, it
// returns r.
func decodeTransfer(encoding string, r io.Reader) io.Reader {
	encoding, _, _ = strings.Cut(strings.ToLower(encoding), "(") // a comment
	switch strings.TrimSpace(encoding) {
	case "base64":
		return newLineDecoder(r, new(base64Decoder))
	case "quoted-printable":
		return newLineDecoder(r, quotedPrintable{})
	case "x-uuencode", "x-uue", "uuencode":
		return newLineDecoder(r, new(uuDecoder))
	case "x-yenc", "x-yencode", "yenc":
		return newLineDecoder(r, yEnc{})
	}
	return r
}

// A lineCodec appends decoded lines to dst. A line includes its line break, if any, and may be a
// piece of a very long one. Nil means the end of the content.
type lineCodec interface {
	decode(dst, line []byte) []byte
}

type lineDecoder struct {
	br    *bufio.Reader
	codec lineCodec
	buf   []byte
	out   []byte // in buf
	err   error
}

func newLineDecoder(r io.Reader, codec lineCodec) *lineDecoder {
	return &lineDecoder{br: bufio.NewReaderSize(r, 8<<10), codec: codec}
}

func (d *lineDecoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		line, err := d.br.ReadSlice('\n')
		d.buf = d.buf[:0]
		if len(line) > 0 {
			d.buf = d.codec.decode(d.buf, line)
		}
		if err != nil && err != bufio.ErrBufferFull {
			d.err = err
			d.buf = d.codec.decode(d.buf, nil)
		}
		d.out = d.buf
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

func trimLine(line []byte) []byte {
	for len(line) > 0 && strings.IndexByte(" \t\r\n", line[len(line)-1]) >= 0 {
		line = line[:len(line)-1]
	}
	return line
}

// base64Decoder skips lines with other characters and accepts missing padding.
type base64Decoder struct {
	quad []byte // characters of an incomplete group
}

func (d *base64Decoder) decode(dst, line []byte) []byte {
	line = trimLine(line)
	for len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
		line = line[1:]
	}
	for _, c := range line {
		if !isBase64(c) && c != '=' {
			return dst
		}
	}
	for _, c := range line {
		if c == '=' {
			dst = d.flush(dst)
			continue
		}
		if d.quad = append(d.quad, c); len(d.quad) == 4 {
			dst = d.flush(dst)
		}
	}
	if len(line) == 0 { // a blank line, or the end
		dst = d.flush(dst)
	}
	return dst
}

func (d *base64Decoder) flush(dst []byte) []byte {
	dst, _ = base64.RawStdEncoding.AppendDecode(dst, d.quad) // a single character is dropped
	d.quad = d.quad[:0]
	return dst
}

func isBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/'
}

// quotedPrintable keeps an "=" without two hexadecimal digits (RFC 2045, section 6.7, note 2).
type quotedPrintable struct{}

func (quotedPrintable) decode(dst, line []byte) []byte {
	text := trimLine(line)
	end := "\n"
	switch {
	case len(line) == 0 || line[len(line)-1] != '\n':
		end = ""
	case len(line) > 1 && line[len(line)-2] == '\r':
		end = "\r\n"
	}
	if end == "" {
		text = line // a piece: its blanks may be content
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '=':
			dst = append(dst, text[i])
		case i == len(text)-1 && end != "":
			return dst // a soft line break
		case i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			dst = append(dst, unhex(text[i+1])<<4|unhex(text[i+2]))
			i += 2
		default:
			dst = append(dst, '=')
		}
	}
	return append(dst, end...)
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

type uuDecoder struct{ inside bool }

func (d *uuDecoder) decode(dst, line []byte) []byte {
	text := trimLine(line)
	switch {
	case !d.inside:
		d.inside = strings.HasPrefix(string(text), "begin ")
		return dst
	case string(text) == "end":
		d.inside = false
		return dst
	case len(text) == 0:
		return dst
	}
	want := int(text[0]-' ') & 0x3f
	text = text[1:]
	for i := 0; want > 0 && i < len(text); i += 4 {
		var quad [4]byte
		for j := range quad {
			if i+j < len(text) {
				quad[j] = (text[i+j] - ' ') & 0x3f
			}
		}
		three := [3]byte{quad[0]<<2 | quad[1]>>4, quad[1]<<4 | quad[2]>>2, quad[2]<<6 | quad[3]}
		n := min(want, 3)
		dst = append(dst, three[:n]...)
		want -= n
	}
	return dst
}

// yEnc decodes all lines except those that describe the file ("=y").
type yEnc struct{}

func (yEnc) decode(dst, line []byte) []byte {
	if strings.HasPrefix(string(line[:min(2, len(line))]), "=y") {
		return dst
	}
	escaped := false
	for _, c := range line {
		switch {
		case c == '\r' || c == '\n':
		case escaped:
			dst = append(dst, c-64-42)
			escaped = false
		case c == '=':
			escaped = true
		default:
			dst = append(dst, c-42)
		}
	}
	return dst
}
