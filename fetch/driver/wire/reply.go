package wire

import (
	"fmt"
	"strings"
)

// A Reply is a numeric reply as in FTP and NNTP (RFC 959, section 4.2).
type Reply struct {
	Code  int      // 100 to 999
	Lines []string // the text of each line, without the code; at least one, which may be empty
}

// Text returns the lines joined by LF, as the server sent them. They may contain any control
// characters except line endings.
func (r Reply) Text() string { return strings.Join(r.Lines, "\n") }

// String returns the code and the text, for messages and logs.
func (r Reply) String() string {
	return strings.TrimRight(fmt.Sprintf("%03d %s", r.Code, r.Text()), " ")
}

// ReplyLimits limit the size of a reply. Zero fields mean the defaults.
type ReplyLimits struct {
	Lines int // default 1000
	Bytes int // total size of the text; default 64 KiB
}

const (
	defaultReplyLines = 1000
	defaultReplyBytes = 64 << 10
)

// Reply reads one reply: a line "ddd text", or several lines from "ddd-text" to "ddd text" with the
// same code. Lines in between may start with anything; a repeated "ddd-" is removed.
//
// If the first line has any other form, the error matches ErrMalformed and quotes the line. If the
// reply exceeds the limits, the error matches ErrReplyTooLong. If the stream ends, the error is
// io.EOF before a reply and io.ErrUnexpectedEOF within one.
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

// splitReply splits "ddd text", "ddd-text" and "ddd". More reports whether the hyphen was present.
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
