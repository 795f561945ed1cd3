package imap

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// utf7 is the base64 alphabet of mailbox names (RFC 3501, section 5.1.3).
var utf7 = base64.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+,").
	WithPadding(base64.NoPadding)

// encodeName encodes the name of a mailbox in modified UTF-7.
func encodeName(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		i := strings.IndexFunc(name, func(r rune) bool { return r == '&' || r < ' ' || r > '~' })
		if i < 0 {
			i = len(name)
		}
		b.WriteString(name[:i])
		name = name[i:]
		switch {
		case name == "":
		case name[0] == '&':
			b.WriteString("&-")
			name = name[1:]
		default:
			end := strings.IndexFunc(name, func(r rune) bool { return r >= ' ' && r <= '~' })
			if end < 0 {
				end = len(name)
			}
			var units []byte
			for _, u := range utf16.Encode([]rune(name[:end])) {
				units = binary.BigEndian.AppendUint16(units, u)
			}
			b.WriteString("&" + utf7.EncodeToString(units) + "-")
			name = name[end:]
		}
	}
	return b.String()
}

// decodeName decodes the name of a mailbox from modified UTF-7. ok is false if s is malformed, is
// not the canonical encoding, or decodes to a name with CR, LF or NUL.
func decodeName(s string) (name string, ok bool) {
	var b strings.Builder
	for rest := s; rest != ""; {
		plain, coded, shift := strings.Cut(rest, "&")
		b.WriteString(plain)
		if !shift {
			break
		}
		coded, after, closed := strings.Cut(coded, "-")
		rest = after
		if coded == "" && closed {
			b.WriteByte('&')
			continue
		}
		raw, err := utf7.DecodeString(coded)
		if err != nil || len(raw)%2 != 0 || !closed {
			return "", false
		}
		units := make([]uint16, len(raw)/2)
		for i := range units {
			units[i] = binary.BigEndian.Uint16(raw[2*i:])
		}
		b.WriteString(string(utf16.Decode(units)))
	}
	name = b.String()
	return name, utf8.ValidString(name) && encodeName(name) == s && !strings.ContainsAny(name, "\r\n\x00")
}
