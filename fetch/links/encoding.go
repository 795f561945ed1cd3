package links

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// fromUTF16 converts in to UTF-8 and returns the original encoding if in begins with the byte order
// mark of UTF-16. Otherwise it returns in and nil.
func fromUTF16(in *bufio.Reader) (*bufio.Reader, encoding.Encoding) {
	var enc encoding.Encoding
	switch mark, _ := in.Peek(2); string(mark) {
	case "\xfe\xff":
		enc = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case "\xff\xfe":
		enc = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	default:
		return in, nil
	}
	return bufio.NewReader(enc.NewDecoder().Reader(in)), enc
}

// A pageEncoding is the encoding of a page in which ASCII characters have their own bytes. The zero
// value is UTF-8.
type pageEncoding struct {
	encoding.Encoding      // nil for UTF-8
	declared          bool // otherwise it applies only to text that is not UTF-8
}

// sniffed is the number of bytes in which a page may declare its encoding (HTML, section 13.2.3.2).
const sniffed = 1024

// encodingOf returns the encoding of a page: that of its content type, of a meta element or, as in
// browsers, windows-1252.
func encodingOf(in *bufio.Reader, contentType string) pageEncoding {
	start, _ := in.Peek(sniffed)
	if isASCII(start) && !namesCharset(start) {
		start = nil // it says nothing about the encoding, and looking for meta elements takes time
	}
	enc, name, declared := charset.DetermineEncoding(start, contentType)
	if name == "utf-8" || name == "replacement" || enc == encoding.Nop || strings.HasPrefix(name, "utf-16") {
		return pageEncoding{}
	}
	return pageEncoding{enc, declared || name != "windows-1252"}
}

// decode converts text to UTF-8. It returns false if it is UTF-8 already.
func (p pageEncoding) decode(text []byte) ([]byte, bool) {
	if p.Encoding == nil || isASCII(text) || !p.declared && utf8.Valid(text) {
		return text, false
	}
	decoded, err := p.NewDecoder().Bytes(text)
	return decoded, err == nil
}

// encode converts UTF-8 to the encoding of the page. Characters that it lacks become references.
func (p pageEncoding) encode(text []byte) []byte {
	encoded, err := encoding.HTMLEscapeUnsupported(p.NewEncoder()).Bytes(text)
	if err != nil {
		return text
	}
	return encoded
}

// namesCharset reports whether text has the word charset.
func namesCharset(text []byte) bool {
	word := []byte("charset")
	for i := range max(len(text)-len(word)+1, 0) {
		if text[i]|0x20 == word[0] && bytes.EqualFold(text[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// readTag is readTag for the current tag of t, whose text is raw. It converts the attributes to
// UTF-8, appends them to buf, and returns the encoding that applies to the tag.
func (p pageEncoding) readTag(t *html.Tokenizer, raw []byte, buf []html.Attribute) (name string, attrs []html.Attribute, own pageEncoding) {
	text, converted := p.decode(raw)
	if !converted {
		name, attrs = readTag(t, buf)
		if !p.declared {
			p = pageEncoding{}
		}
		return name, attrs, p
	}
	t = html.NewTokenizer(bytes.NewReader(text))
	t.Next()
	name, attrs = readTag(t, buf)
	return name, attrs, p
}

// entry is entry for a reference in a page with the encoding p. Paths are in UTF-8 and queries in
// the encoding of the page (URL Standard, section 4.4).
func (p pageEncoding) entry(base uri.URI, ref, rel string) fetch.Entry {
	if p.Encoding == nil {
		return entry(base, ref, rel)
	}
	address, fragment, hasFragment := strings.Cut(ref, "#")
	path, query, hasQuery := strings.Cut(address, "?")
	if !hasQuery || isASCII([]byte(query)) {
		return entry(base, ref, rel)
	}
	encoder := p.NewEncoder()
	var b strings.Builder
	for _, r := range query {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		encoded, err := encoder.String(string(r))
		if err != nil {
			encoded = fmt.Sprintf("&#%d;", r)
		}
		for _, c := range []byte(encoded) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	ref = path + "?" + b.String()
	if hasFragment {
		ref += "#" + fragment
	}
	return entry(base, ref, rel)
}
