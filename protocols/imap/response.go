package imap

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch/driver/wire"
)

// Limits for responses, except message content, in bytes.
const (
	maxLine     = 256 << 10 // a line
	maxLiteral  = 256 << 10 // a literal in a response, such as a header
	maxResponse = 1 << 20   // a response with all its literals
	maxDepth    = 12        // nesting of parentheses, not bytes
)

// A response is one response of the server (RFC 3501, section 7). Its data excludes the tag and
// includes literals verbatim.
type response struct {
	tag  string // "*", "+" or the tag of a command
	data []byte
	// literalSize is the size of the unread content that follows, in bytes; -1 if none follows.
	literalSize int64
}

// The expressions are compiled on first use, because a program that links the driver may never use
// it.
var (
	literalEnd = lazyRegexp(`\{([0-9]{1,19})\}$`)
	// bodyItem matches the end of a line that announces a message's content as a literal.
	bodyItem = lazyRegexp(`(?i)[ (]BODY\[[^\]]*\](<[0-9]+>)? \{[0-9]{1,19}\}$`)
	// statusResponse matches responses that end in human-readable text, which never contains a literal.
	statusResponse = lazyRegexp(`(?i)^(OK|NO|BAD|BYE|PREAUTH)( |$)`)
)

func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// next reads one response. If stream is set, it stops before the content of a message. The caller
// applies the reply timeout.
func (s *session) next(stream bool) (response, error) {
	r, err := s.readResponse(stream)
	return r, s.readError(err)
}

// A connection that ends before a response does not end any content, so io.EOF is unexpected.
func (s *session) readError(err error) error {
	if err == nil {
		return nil
	}
	s.Lines.Break(err)
	return wire.Unexpected(err)
}

func (s *session) readResponse(stream bool) (response, error) {
	line, err := s.Lines.Line()
	if err != nil {
		return response{}, err
	}
	tag, rest, _ := strings.Cut(line, " ")
	r := response{tag: tag, literalSize: -1}
	if tag == "" {
		return r, fmt.Errorf("%w %.80q", wire.ErrMalformed, line)
	}
	if tag != "*" || statusResponse().MatchString(rest) {
		r.data = []byte(rest)
		return r, nil
	}
	return r, s.readData(&r, rest, stream)
}

// readData also reads the literals that line announces and the lines that continue it.
func (s *session) readData(r *response, line string, stream bool) error {
	for {
		r.data = append(r.data, line...)
		found := literalEnd().FindStringSubmatch(line)
		if found == nil {
			return nil
		}
		n, err := strconv.ParseInt(found[1], 10, 64)
		switch {
		case err != nil:
			return fmt.Errorf("%w: a literal of %s bytes", wire.ErrMalformed, found[1])
		case stream && bodyItem().Match(r.data):
			r.literalSize = n
			return nil
		case n > maxLiteral || len(r.data)+int(n) > maxResponse:
			return fmt.Errorf("%w: a literal of %d bytes", wire.ErrReplyTooLong, n)
		}
		r.data = append(r.data, "\r\n"...)
		begin := len(r.data)
		r.data = append(r.data, make([]byte, n)...)
		if _, err := io.ReadFull(s.Lines.Reader(), r.data[begin:]); err != nil {
			return err
		}
		if line, err = s.Lines.Line(); err != nil {
			return err
		}
	}
}

// readTail reads the rest of a response after a message's content, and calls check with it.
func (s *session) readTail(check func(tail string) error) error {
	defer s.ReplyTimeout()()
	line, err := s.Lines.Line()
	if err == nil {
		r := response{literalSize: -1}
		if err = s.readData(&r, line, false); err == nil {
			err = check(string(r.data))
		}
	}
	return s.readError(err)
}

// A value is an atom, a string, NIL or a list.
type value struct {
	text string
	null bool
	list []value
	name string // the FETCH item's name, as sent by the server
}

var errValue = fmt.Errorf("%w: invalid IMAP data", wire.ErrMalformed)

// parseValue parses one value (RFC 3501, section 9) and returns the remaining bytes.
func parseValue(p []byte, depth int) (v value, rest []byte, err error) {
	switch {
	case len(p) == 0 || depth > maxDepth:
		return v, p, errValue
	case p[0] == '(':
		v.list, rest, err = parseList(p, depth)
		return v, rest, err
	case p[0] == '"':
		v.text, rest, err = parseQuoted(p[1:])
		return v, rest, err
	case p[0] == '{':
		v.text, rest, err = parseLiteral(p)
		return v, rest, err
	}
	end := atomEnd(p)
	if end == 0 {
		return v, p, errValue
	}
	v.text = string(p[:end])
	v.null = strings.EqualFold(v.text, "NIL")
	return v, p[end:], nil
}

// atomEnd returns the length of the atom at the start of p. A section such as "BODY[HEADER.FIELDS
// (DATE)]" is a single atom, including everything in brackets.
func atomEnd(p []byte) int {
	if len(p) >= 5 && bytes.EqualFold(p[:5], []byte("BODY[")) {
		if end := bytes.IndexByte(p, ']'); end > 0 {
			return end + 1 + atomEnd(p[end+1:])
		}
	}
	end := bytes.IndexFunc(p, func(r rune) bool {
		return r <= ' ' || r == 0x7f ||
			strings.ContainsRune(`()"{`, r)
	})
	if end < 0 {
		return len(p)
	}
	return end
}

func parseList(p []byte, depth int) (list []value, rest []byte, err error) {
	for p = p[1:]; ; {
		p = bytes.TrimLeft(p, " ")
		if len(p) > 0 && p[0] == ')' {
			return list, p[1:], nil
		}
		var v value
		if v, p, err = parseValue(p, depth+1); err != nil {
			return nil, p, err
		}
		list = append(list, v)
	}
}

func parseQuoted(p []byte) (text string, rest []byte, err error) {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch {
		case p[i] == '"':
			return b.String(), p[i+1:], nil
		case p[i] == '\\' && i+1 < len(p):
			i++
		}
		b.WriteByte(p[i])
	}
	return "", p, errValue
}

func parseLiteral(p []byte) (text string, rest []byte, err error) {
	size, rest, ok := bytes.Cut(p[1:], []byte("}\r\n"))
	n, err := strconv.Atoi(string(size))
	if !ok || err != nil || n < 0 || n > len(rest) {
		return "", p, errValue
	}
	return string(rest[:n]), rest[n:], nil
}

func parseValues(p []byte) ([]value, error) {
	var all []value
	for len(p) > 0 {
		v, rest, err := parseValue(p, 0)
		if err != nil {
			return nil, err
		}
		all, p = append(all, v), bytes.TrimLeft(rest, " ")
	}
	return all, nil
}

// parseFetch parses a FETCH response such as "5 FETCH (UID 7 RFC822.SIZE 120)" into items by name.
// The name of any body section is "BODY". ok is false for other responses.
func parseFetch(data []byte) (items map[string]value, ok bool, err error) {
	all, err := parseValues(data)
	if err != nil || len(all) < 2 || !strings.EqualFold(all[1].text, "FETCH") {
		return nil, false, nil // servers may send other data at any time
	}
	if len(all) != 3 || len(all[2].list)%2 != 0 {
		return nil, false, errValue
	}
	items = make(map[string]value)
	for list := all[2].list; len(list) > 0; list = list[2:] {
		name, _, _ := strings.Cut(strings.ToUpper(list[0].text), "[")
		list[1].name = list[0].text
		items[name] = list[1]
	}
	return items, true, nil
}

// parseOrigin returns the origin octet of a body item: 100 for "BODY[]<100>" (RFC 3501, section 7.4.2).
// name may be a line that contains the item. parseOrigin returns -1 if there is no origin octet.
func parseOrigin(name string) int64 {
	_, text, ok := strings.Cut(name[strings.LastIndexByte(name, ']')+1:], "<")
	text, _, closed := strings.Cut(text, ">")
	n, err := strconv.ParseInt(text, 10, 64)
	if !ok || !closed || err != nil {
		return -1
	}
	return n
}

// number parses a non-negative number. It returns 0 if v is not one.
func (v value) number() int64 {
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// code returns the response code of a status, such as "UIDVALIDITY 385759045", in upper case.
func code(text string) string {
	rest, ok := strings.CutPrefix(text, "[")
	if !ok {
		return ""
	}
	inside, _, _ := strings.Cut(rest, "]")
	return strings.ToUpper(inside)
}
