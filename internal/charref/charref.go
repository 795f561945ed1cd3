// Package charref decodes the character references of HTML.
//
// It makes the table of the names when a page has one of them. That of golang.org/x/net/html is made
// whenever a program starts that can read it.
package charref

import (
	"bytes"
	"html"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// AppendText appends a text to out with its references, as between tags, replaced.
func AppendText(out, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '&')
		if i < 0 {
			return append(out, text...)
		}
		out, text = append(out, text[:i]...), text[i:]
		n := Length(text)
		out = Append(out, text[:n])
		text = text[n:]
	}
}

// Length returns the length of what may be a reference at the beginning of text, which is "&".
func Length(text []byte) int {
	n := 1
	if n < len(text) && text[n] == '#' {
		n++
	}
	for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
		n++
	}
	if n < len(text) && text[n] == ';' {
		n++
	}
	return n
}

// Append appends the characters of a reference to out or, if it is none, its text. The reference may have
// other characters after it.
func Append(out, ref []byte) []byte {
	switch string(ref) { // these need no table
	case "&":
		return append(out, '&')
	case "&amp;":
		return append(out, '&')
	case "&lt;":
		return append(out, '<')
	case "&gt;":
		return append(out, '>')
	case "&quot;":
		return append(out, '"')
	case "&nbsp;":
		return append(out, "\u00a0"...)
	case "&nGt;": // package html does not know these two
		return append(out, "\u226b\u20d2"...)
	case "&nLt;":
		return append(out, "\u226a\u20d2"...)
	}
	if len(ref) > 1 && ref[1] == '#' {
		return appendNumeric(out, ref)
	}
	return append(out, html.UnescapeString(string(ref))...)
}

// appendNumeric is for references by number (HTML, section 13.2.5.75), some of which package html of the
// standard library decodes differently.
func appendNumeric(out, ref []byte) []byte {
	i, base := 2, 10
	if i < len(ref) && ref[i]|0x20 == 'x' {
		i, base = 3, 16
	}
	first, number := i, 0
	for ; i < len(ref); i++ {
		digit := int(ref[i] - '0')
		if c := ref[i] | 0x20; base == 16 && 'a' <= c && c <= 'f' {
			digit = int(c-'a') + 10
		} else if !isDigit(ref[i]) {
			break
		}
		if number <= utf8.MaxRune { // larger ones stay invalid
			number = number*base + digit
		}
	}
	if i == first {
		return append(out, ref...)
	}
	if i < len(ref) && ref[i] == ';' {
		i++
	}
	r := rune(number)
	if r == 0 {
		r = utf8.RuneError
	} else if 0x80 <= r && r < 0xA0 {
		if c := charmap.Windows1252.DecodeByte(byte(r)); c != utf8.RuneError {
			r = c
		}
	}
	return append(utf8.AppendRune(out, r), ref[i:]...) // an invalid one becomes U+FFFD
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
