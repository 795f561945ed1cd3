package links

import (
	"bufio"
	"io"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// fromUTF16 returns the text of r in UTF-8 and the encoding that it was in, if a byte order mark
// says that it is in UTF-16; else r and nil. Links in all other encodings of the web stand in
// ASCII.
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
