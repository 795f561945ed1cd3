package wire

import (
	"fmt"
	"strings"
)

// A Reply is a numeric reply as in FTP and NNTP (RFC 959, section 4.2).
type Reply struct {
	Code  int      // 100 to 999
	Lines []string // the texts, without the code where a line has it; at least one, perhaps ""
}

// Text returns the lines joined by LF. It is what the server said, byte for byte, and may hold any
// control character but CR LF and LF within a line.
func (r Reply) Text() string { return strings.Join(r.Lines, "\n") }

// String returns the reply for messages and logs: code and text.
func (r Reply) String() string {
	return strings.TrimRight(fmt.Sprintf("%03d %s", r.Code, r.Text()), " ")
}

// ReplyLimits bound a reply. Zero means the default.
type ReplyLimits struct {
	Lines int // 1000
	Bytes int // of all texts, 64 KiB
}

const (
	defaultReplyLines = 1000
	defaultReplyBytes = 64 << 10
)

// Reply reads one reply: a line "ddd text", or lines from "ddd-text" up to "ddd text" with the same
// code, where the lines between may begin with anything. Lines between that repeat the code as
// "ddd-" lose it.
//
// A first line of another form gives an error that matches ErrMalformed and quotes the line. A reply
// beyond the limits gives ErrReplyTooLong. The error is io.EOF only if the stream ended before the
// reply began, and io.ErrUnexpectedEOF if it ended within.
func (r *Reader) Reply(limits ReplyLimits) (Reply, error) {
	if limits.Lines <= 0 {
		limits.Lines = defaultReplyLines
	}
	if limits.Bytes <= 0 {
		limits.Bytes = defaultReplyBytes
	}
	line, err := r.Line()
	if err != nil {
		return Reply{}, err
	}
	code, more, text, ok := splitReply(line)
	if !ok {
		return Reply{}, malformed(line)
	}
	reply := Reply{Code: code, Lines: []string{string(text)}}
	for size := len(text); more; {
		if len(reply.Lines) == limits.Lines || size > limits.Bytes {
			return Reply{}, fmt.Errorf("%w: more than %d lines or %d bytes after %03d",
				ErrReplyTooLong, limits.Lines, limits.Bytes, code)
		}
		line, err := r.Line()
		if err != nil {
			return Reply{}, unexpected(err)
		}
		if c, again, text, ok := splitReply(line); ok && c == code {
			line, more = text, again
		}
		reply.Lines = append(reply.Lines, string(line))
		size += len(line) + 1
	}
	return reply, nil
}

// splitReply splits "ddd text", "ddd-text" and "ddd". More tells that the hyphen was there.
func splitReply(line []byte) (code int, more bool, text []byte, ok bool) {
	if len(line) < 3 || line[0] == '0' {
		return 0, false, nil, false
	}
	for _, c := range line[:3] {
		if c < '0' || c > '9' {
			return 0, false, nil, false
		}
		code = code*10 + int(c-'0')
	}
	if len(line) == 3 {
		return code, false, nil, true
	}
	return code, line[3] == '-', line[4:], line[3] == '-' || line[3] == ' '
}

func malformed(line []byte) error {
	const most = 100
	if len(line) > most {
		return fmt.Errorf("%w beginning %q", ErrMalformed, line[:most])
	}
	return fmt.Errorf("%w: %q", ErrMalformed, line)
}
