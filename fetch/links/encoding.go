package links

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A pageEncoding is the encoding of a page. The zero value is UTF-8.
type pageEncoding struct {
	encoding.Encoding        // nil for UTF-8
	name              string // of the Encoding, if it is declared
	declared          bool   // otherwise it applies only to text that is not UTF-8
	converted         bool   // the text is in UTF-8 already, and only queries are encoded
}

// sniffed is the number of bytes in which a page may declare its encoding (HTML, section 13.2.3.2).
const sniffed = 1024

// detect finds the encoding of a page from its start: that of its byte order mark, of the label in its
// content type, of an XML declaration, of a meta element or, as in browsers, windows-1252. The page is
// converted as a whole if its encoding has other bytes for ASCII characters.
func (m *markup) detect(start []byte, label string) {
	if m.whole = wide(start, label); m.whole != nil {
		return
	}
	enc, name := charset.Lookup(label)
	if bytes.HasPrefix(start, []byte("\xef\xbb\xbf")) {
		enc, name = charset.Lookup("utf-8")
	}
	if enc == nil {
		enc, name = charset.Lookup(xmlEncoding(start))
	}
	if enc == nil {
		enc, name = declaredAt(start)
	}
	if enc == nil && isUTF8(start) {
		name = "utf-8" // a guess
	}
	switch {
	case name == "replacement":
		m.undecodable = cmp.Or(label, "of a meta element")
	case enc == nil && label != "" && name != "utf-8" && !isASCII(start):
		m.undecodable = label
	}
	m.tentative = enc == nil
	switch {
	case enc == nil && name != "utf-8":
		m.encoding = pageEncoding{Encoding: charmap.Windows1252}
	case name == "iso-2022-jp":
		m.whole, m.encoding = enc, pageEncoding{Encoding: enc, name: name, declared: true, converted: true}
	default:
		m.encoding = encodingNamed(enc, name)
	}
}

// declaredAt returns the encoding that a meta element in the start of a page declares, and its name, or nil.
func declaredAt(start []byte) (encoding.Encoding, string) {
	if !namesCharset(start) {
		return nil, ""
	}
	m := takeMarkup(bytes.NewReader(start))
	defer m.release()
	m.skipsTexts = true
	for kind := m.next(); kind != endToken; kind = m.next() {
		if kind != startToken || m.name != "meta" {
			continue
		}
		if enc, name := declaredBy(m.attrs); enc != nil {
			return enc, name
		}
	}
	return nil, ""
}

// isUTF8 reports whether the start of a page has characters other than ASCII, and in UTF-8. The last one
// may be incomplete.
func isUTF8(start []byte) bool {
	for i := len(start) - 1; i >= max(len(start)-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(start[i]) {
			if start[i] >= utf8.RuneSelf && !utf8.FullRune(start[i:]) {
				start = start[:i]
			}
			break
		}
	}
	return !isASCII(start) && utf8.Valid(start)
}

// encodingNamed returns the encoding that a page declares. If the declaration can be read, UTF-16 is
// wrong.
func encodingNamed(enc encoding.Encoding, name string) pageEncoding {
	if name == "utf-8" || name == "replacement" || strings.HasPrefix(name, "utf-16") {
		return pageEncoding{declared: true}
	}
	return pageEncoding{Encoding: enc, name: name, declared: true}
}

// wide returns UTF-16 or UTF-32 if the start of a page or the charset of its content type says so.
// Browsers do not know UTF-32.
func wide(start []byte, label string) encoding.Encoding {
	begins := func(mark string) bool { return bytes.HasPrefix(start, []byte(mark)) }
	_, name := charset.Lookup(label)
	switch {
	case begins("\xff\xfe\x00\x00"), begins("\x00\x00\xfe\xff"):
		order := utf32.LittleEndian
		if start[0] == 0 {
			order = utf32.BigEndian
		}
		return utf32.UTF32(order, utf32.UseBOM)
	case begins("\xff\xfe"):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case begins("\xfe\xff"):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case begins("\xef\xbb\xbf"):
		return nil
	case label == "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case label == "utf-32", label == "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case name == "utf-16le", label == "" && begins("<\x00?\x00x\x00"):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case name == "utf-16be", label == "" && begins("\x00<\x00?\x00x"):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// isDeclared reports whether a page begins with an XML declaration, not with another instruction.
func isDeclared(start []byte) bool {
	rest, ok := bytes.CutPrefix(start, []byte("<?xml"))
	return ok && len(rest) > 0 && strings.IndexByte(blanks, rest[0]) >= 0
}

func xmlEncoding(start []byte) string {
	end := bytes.Index(start, []byte("?>"))
	if end < 0 || !isDeclared(start) {
		return ""
	}
	_, rest, _ := strings.Cut(string(start[:end]), "encoding")
	rest = strings.TrimLeft(rest, blanks+"=")
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	label, _, _ := strings.Cut(rest[1:], rest[:1])
	return label
}

// labelOf returns the charset of a content type, in lower case, also of one with malformed parameters.
func labelOf(contentType string) string {
	_, params, err := parseMediaType(contentType)
	label := params["charset"]
	if err != nil {
		label = charsetIn(contentType)
	}
	return strings.ToLower(strings.TrimSpace(label))
}

// declaredBy returns the encoding that the attributes of a meta element declare, and its name, or nil.
func declaredBy(attrs []attribute) (encoding.Encoding, string) {
	label, ok := value(attrs, "charset")
	if how, _ := value(attrs, "http-equiv"); !ok && strings.EqualFold(how, "content-type") {
		content, _ := value(attrs, "content")
		label = charsetIn(content)
	}
	return charset.Lookup(label)
}

// charsetIn returns the charset in the content of a meta element (HTML, section 2.4.2), or "".
func charsetIn(content string) string {
	for content = strings.ToLower(content); ; {
		_, rest, ok := strings.Cut(content, "charset")
		if !ok {
			return ""
		}
		content = rest
		label, ok := strings.CutPrefix(strings.TrimLeft(rest, blanks), "=")
		label = strings.TrimLeft(label, blanks)
		switch {
		case !ok || label == "":
		case label[0] == '"' || label[0] == '\'':
			label, _, ok := strings.Cut(label[1:], label[:1])
			if ok {
				return label
			}
			return ""
		default:
			return label[:strings.IndexAny(label+";", blanks+";")]
		}
	}
}

// appliesTo reports whether text is to be converted to UTF-8.
func (p pageEncoding) appliesTo(text []byte) bool {
	return p.Encoding != nil && !p.converted && !isASCII(text) && (p.declared || !utf8.Valid(text))
}

// encode converts UTF-8 to the encoding of the page. Characters that it lacks become references.
func (p pageEncoding) encode(text []byte) []byte {
	if p.Encoding == nil || p.converted {
		return text
	}
	encoded, err := encoding.HTMLEscapeUnsupported(p.NewEncoder()).Bytes(text)
	if err != nil {
		return text
	}
	return encoded
}

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

func (p pageEncoding) entry(base uri.URI, ref, rel string) fetch.Entry {
	return entry(base, p.reference(ref), rel)
}

// reference returns a reference in a page with the encoding p. Paths are in UTF-8 and queries in
// the encoding of the page (URL Standard, section 4.4). A sequence of characters is encoded at once,
// because ISO-2022-JP has an escape sequence before and after it. Of its bytes, those of ASCII characters
// are escaped, too, so that servers do not take them for delimiters.
func (p pageEncoding) reference(ref string) string {
	if p.Encoding == nil {
		return ref
	}
	address, fragment, hasFragment := strings.Cut(ref, "#")
	path, query, hasQuery := strings.Cut(address, "?")
	if !hasQuery || isASCII([]byte(query)) {
		return ref
	}
	encoder := p.NewEncoder()
	var b strings.Builder
	for query != "" {
		if query[0] < utf8.RuneSelf {
			b.WriteByte(query[0])
			query = query[1:]
			continue
		}
		end := strings.IndexFunc(query, func(r rune) bool { return r < utf8.RuneSelf })
		if end < 0 {
			end = len(query)
		}
		encoded, n, err := transform.String(encoder, query[:end])
		if err != nil {
			r, size := utf8.DecodeRuneInString(query[n:])
			encoded, n = encoded+fmt.Sprintf("&#%d;", r), n+size
		}
		for _, c := range []byte(encoded) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
		query = query[n:]
	}
	ref = path + "?" + b.String()
	if hasFragment {
		ref += "#" + fragment
	}
	return ref
}
