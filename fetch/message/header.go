// Package message reads Internet messages (RFC 5322, MIME) as they are found in the wild: mail and
// news that break the rules are read as far as they make sense. Raw bytes are never changed; what
// is decoded says where decoding failed.
package message

import (
	"bytes"
	"io"
	"mime"
	"net/textproto"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// MaxHeader is how many bytes of a message or part are read as its header. A longer header is cut
// off there.
const MaxHeader = 256 << 10

// maxFields bounds the fields of one header.
const maxFields = 10_000

// ReadHead reads from r until the header has been read or there are limit bytes (0: MaxHeader) of
// it. The bytes read may go on into the body. The error is nil at the end of r.
func ReadHead(r io.Reader, limit int) ([]byte, error) {
	if limit <= 0 {
		limit = MaxHeader
	}
	head := make([]byte, 0, min(limit, 4<<10))
	for len(head) < limit {
		if len(head) == cap(head) {
			head = append(head, 0)[:len(head)]
		}
		scanned := max(0, len(head)-3)
		n, err := r.Read(head[len(head):min(cap(head), limit)])
		head = head[:len(head)+n]
		if err == io.EOF {
			return head, nil
		}
		if err != nil || headEnd(head[scanned:]) >= 0 || startsWithBlank(head) {
			return head, err
		}
	}
	return head, nil
}

func startsWithBlank(p []byte) bool {
	return bytes.HasPrefix(p, []byte("\n")) || bytes.HasPrefix(p, []byte("\r\n"))
}

// headEnd returns the offset after the first empty line that follows another line, or -1.
func headEnd(p []byte) int {
	for i := 0; ; {
		n := bytes.IndexByte(p[i:], '\n')
		if n < 0 {
			return -1
		}
		i += n + 1
		switch {
		case bytes.HasPrefix(p[i:], []byte("\n")):
			return i + 1
		case bytes.HasPrefix(p[i:], []byte("\r\n")):
			return i + 2
		}
	}
}

// SplitHead divides the beginning of a message into its header, with the empty line that ends it,
// and what follows. Without an empty line all is header.
func SplitHead(p []byte) (head, rest []byte) {
	end := headEnd(p)
	switch {
	case bytes.HasPrefix(p, []byte("\n")):
		end = 1
	case bytes.HasPrefix(p, []byte("\r\n")):
		end = 2
	case end < 0:
		end = len(p)
	}
	return p[:end], p[end:]
}

// ParseHeader reads header lines. Continuation lines are unfolded, with the line end left out as
// RFC 5322, section 2.2.3 says. Lines that are no field, such as the "From " of an mbox, are
// dropped, and so is what follows an empty line. Values are as they came: see Decode.
func ParseHeader(head []byte) textproto.MIMEHeader {
	h := make(textproto.MIMEHeader)
	key := "" // of the last field; "" while lines are dropped
	fields := 0
	for len(head) > 0 && fields < maxFields {
		line := head
		if i := bytes.IndexByte(head, '\n'); i >= 0 {
			line = head[:i]
		}
		head = head[min(len(line)+1, len(head)):]
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if values := h[key]; len(values) > 0 {
				values[len(values)-1] += string(bytes.TrimRight(line, " \t\r"))
			}
			continue
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		name = bytes.TrimRight(name, " \t")
		if key = ""; !ok || !isFieldName(name) {
			continue
		}
		fields++
		key = textproto.CanonicalMIMEHeaderKey(string(name))
		h[key] = append(h[key], string(bytes.Trim(value, " \t\r")))
	}
	return h
}

// isFieldName reports whether name consists of printable ASCII but space and colon (RFC 5322,
// section 3.6.8).
func isFieldName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return len(name) > 0
}

var words = mime.WordDecoder{CharsetReader: decoded}

// Decode returns a header value as text: encoded words (RFC 2047) are decoded and bytes that are no
// UTF-8 are taken as Windows-1252. What cannot be decoded is left as it is.
func Decode(value string) string {
	if !strings.Contains(value, "=?") && isASCII(value) {
		return value
	}
	if !utf8.ValidString(value) {
		value, _ = charmap.Windows1252.NewDecoder().String(value)
	}
	if decoded, err := words.DecodeHeader(value); err == nil {
		return decoded
	}
	return value
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
