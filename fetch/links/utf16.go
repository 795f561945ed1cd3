package links

import (
	"bufio"
	"io"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// fromUTF16 converts r to UTF-8 and returns the original encoding if r begins with the byte order
// mark of UTF-16. Otherwise it returns the text unchanged and nil, because links are ASCII in all
// other encodings of the web.
func fromUTF16(r io.Reader) (io.Reader, encoding.Encoding) {
	in := bufio.NewReader(r)
	var enc encoding.Encoding
	switch mark, _ := in.Peek(2); string(mark) {
	case "\xfe\xff":
		enc = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case "\xff\xfe":
		enc = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	default:
		return in, nil
	}
	return enc.NewDecoder().Reader(in), enc
}
