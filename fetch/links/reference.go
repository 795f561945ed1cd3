package links

import (
	"bytes"
	"unicode/utf8"

	"github.com/urlget/urlget/internal/charref"
)

// A textKind says how a text is read (HTML, section 13.2.5).
type textKind byte

const (
	plainText textKind = iota // the text between tags
	rcdata                    // that of a title or textarea
	rawData                   // that of a script, a style sheet or a CDATA section, without references
	attributeValue
)

// appendText appends a text to out, with one kind of line breaks and without references.
func appendText(out, text []byte, kind textKind) []byte {
	for {
		i := bytes.IndexAny(text, special)
		if i < 0 {
			return append(out, text...)
		}
		out = append(out, text[:i]...)
		switch c := text[i]; {
		case c == 0 && kind != plainText:
			out = append(out, "\uFFFD"...)
		case c == '\r':
			if out = append(out, '\n'); i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
		case c == '&' && kind != rawData:
			n := charref.Length(text[i:])
			isParameter := i+n < len(text) && text[i+n] == '='
			out = appendReference(out, text[i:i+n], kind, isParameter)
			i += n - 1
		default:
			out = append(out, c)
		}
		text = text[i+1:]
	}
}

// special are the characters that appendText replaces.
const special = "&\r\x00"

// isPlain reports whether a text has none of them. It is faster than bytes.ContainsAny.
func isPlain(text []byte) bool {
	return bytes.IndexByte(text, '&') < 0 && bytes.IndexByte(text, '\r') < 0 && bytes.IndexByte(text, 0) < 0
}

// appendReference appends the characters of a reference or, if it is none, its text. In attributes a
// reference to a name without ";" is one only if nothing follows it, because of URLs such as "?a&copy=1"
// (HTML, section 13.2.5.73).
func appendReference(out, ref []byte, kind textKind, isParameter bool) []byte {
	before := len(out)
	out = charref.Append(out, ref)
	if kind == attributeValue && len(ref) > 1 && ref[1] != '#' {
		decoded, closed := out[before:], ref[len(ref)-1] == ';'
		isWhole := utf8.RuneCount(decoded) == 1
		if closed {
			isWhole = string(decoded) == ";" || decoded[len(decoded)-1] != ';'
		}
		if !isWhole || isParameter && !closed {
			return append(out[:before], ref...)
		}
	}
	return out
}
