// Package message reads Internet messages (RFC 5322, MIME), including malformed mail and news. Raw
// bytes are never changed.
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

// MaxHeader is the maximum size of the header of a message or part, in bytes. A longer header is
// truncated.
const MaxHeader = 256 << 10

// maxFields bounds the fields of one header.
const maxFields = 10_000

// ReadHead reads from r until the end of the header, but at most limit bytes. If limit is 0, it is
// MaxHeader. The result may include the beginning of the body. At the end of r, the error is nil.
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

// SplitHead splits the beginning of a message into its header, including the empty line after it,
// and the rest. Without an empty line, everything is header.
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

// ParseHeader parses header lines and unfolds continuation lines (RFC 5322, section 2.2.3). It skips
// lines that are not a field, such as the "From " of an mbox, and stops at an empty line. It does
// not decode values; see Decode.
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

// isFieldName reports whether name is not empty and consists of visible ASCII (RFC 5322, section
// 3.6.8). Names have no colon here, because it ends them.
func isFieldName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return len(name) > 0
}

var words = mime.WordDecoder{CharsetReader: decoded}

// Decode returns a header value as text. It decodes encoded words (RFC 2047), and reads a value that
// is not valid UTF-8 as Windows-1252. If an encoded word cannot be decoded, it is kept.
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
