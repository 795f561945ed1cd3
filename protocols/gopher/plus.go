package gopher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxDigits  = 18 // of a size
	maxHeader  = len("+") + maxDigits + len("\r\n")
	maxMessage = 4 << 10 // of an error, in bytes
)

// A header is the first line of a Gopher+ reply: a sign and a number.
type header struct {
	isError bool
	size    int64 // of the content in bytes, or one of the values below
}

func (h header) String() string {
	sign := "+"
	if h.isError {
		sign = "-"
	}
	return fmt.Sprintf("%s%d", sign, h.size)
}

// The values for an unknown size.
const (
	untilDot   = -1 // the content ends with a line with only a dot
	untilClose = -2
)

// plain stands for the missing header of a plain reply.
var plain = header{size: untilClose}

// plusHeader reads the header of a Gopher+ reply. It returns false, and reads nothing, if there is
// none: a server without Gopher+ sends the plain document.
func (c *conn) plusHeader() (header, bool, error) {
	for n := 1; n <= maxHeader; n++ {
		buf, err := c.Peek(n)
		if err == io.EOF && isCutHeader(string(buf)) {
			return plain, false, fetch.ErrTruncated.Retryf("the reply ends within its header: %q", buf)
		}
		if err != nil {
			return plain, false, notEOF(err)
		}
		if buf[n-1] != '\n' {
			continue
		}
		h, ok, err := parseHeader(string(buf))
		if err != nil {
			return plain, false, err
		}
		if !ok {
			return plain, false, nil
		}
		_, err = io.CopyN(io.Discard, c, int64(n))
		return h, true, err
	}
	buf, _ := c.Peek(maxHeader)
	_, _, err := parseHeader(string(buf))
	return plain, false, err
}

// isCutHeader reports whether text is a truncated header. A document of these few bytes is unlikely.
func isCutHeader(text string) bool {
	if text == "" || text[0] != '+' && text[0] != '-' {
		return false
	}
	return strings.Trim(strings.TrimPrefix(strings.TrimSuffix(text[1:], "\r"), "-"), "0123456789") == ""
}

// parseHeader reads a header. It returns false for any other line. A sign with a number that is too
// large is an error, because a document does not begin with it either.
func parseHeader(line string) (header, bool, error) {
	text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if text == "" || text[0] != '+' && text[0] != '-' {
		return header{}, false, nil
	}
	h := header{isError: text[0] == '-'}
	switch number := text[1:]; {
	case number == "-1":
		h.size = untilDot
	case number == "-2":
		h.size = untilClose
	default:
		if len(number) > maxDigits && strings.Trim(number, "0123456789") == "" {
			return header{}, false, fetch.ErrProtocol.Errorf("the announced size is too large: %.30s bytes",
				number)
		}
		n, err := strconv.ParseUint(number, 10, 62)
		if err != nil {
			return header{}, false, nil
		}
		h.size = int64(n)
	}
	return h, true, nil
}

func (c *conn) content(h header, view bool) io.Reader {
	switch h.size {
	case untilDot:
		return dotReader{c, c.Dot(wire.DotOptions{Unstuff: wire.UnstuffLone, LenientEnd: true}), view}
	case untilClose:
		return c.Reader
	}
	return &sizedReader{c: c, size: h.size, left: h.size}
}

// endWait limits the wait for the end of the connection, for servers that keep it open.
const endWait = 250 * time.Millisecond

// hasMore reports whether data follows the content.
func (c *conn) hasMore() bool {
	c.net.SetReadDeadline(time.Now().Add(endWait))
	rest, _ := c.Peek(maxEnd + 1)
	return len(rest) > maxEnd || !isEnd(rest)
}

// A dotReader reads up to a line with only a dot. A lenient one also reads to EOF, because the
// servers of the University of Minnesota omit the dot for views.
type dotReader struct {
	c       *conn
	r       *wire.DotReader
	lenient bool
}

func (r dotReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	switch {
	case err == io.EOF && r.c.hasMore():
		err = fetch.ErrProtocol.Errorf("received more data after a line with only a dot")
	case err != io.ErrUnexpectedEOF:
	case r.lenient:
		err = io.EOF
	default:
		err = fetch.ErrTruncated.Retryf("the reply ends without the final dot")
	}
	return n, err
}

func isView(g uri.Gopher) bool { return len(g.Plus) > 1 && g.Plus[0] == '+' }

// A sizedReader reads the announced number of bytes. Servers announce the size of a file and may append
// a line with a dot. More bytes are an error: the size is then not that of the content, as if the server
// had changed the line endings.
type sizedReader struct {
	c          *conn
	size, left int64
}

func (r *sizedReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		if r.c.hasMore() {
			return 0, fetch.ErrProtocol.Errorf("received more than the announced %d bytes", r.size)
		}
		return 0, io.EOF
	}
	n, err := r.c.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if err == io.EOF && r.left > 0 {
		err = fetch.ErrTruncated.Retryf("received %d of %d bytes", r.size-r.left, r.size)
	}
	return n, err
}

// A movedError is the Gopher+ error 3: the item has moved.
type movedError struct {
	to    uri.URI
	reply fetch.Reply
}

func (e *movedError) Error() string { return "moved to " + e.to.Redacted() }

// plusFailure reads a Gopher+ error: a line with a code and the address of the administrator, and a
// text.
func (d *opener) plusFailure(c *conn, h header, g uri.Gopher) error {
	c.traceLine(h.String())
	data, err := io.ReadAll(io.LimitReader(c.content(h, true), maxMessage))
	if len(data) == 0 && err != nil {
		return err
	}
	first, rest, _ := strings.Cut(strings.ReplaceAll(wire.Text(string(data)), "\r\n", "\n"), "\n")
	number, admin, _ := strings.Cut(strings.TrimSpace(first), " ")
	rest = strings.TrimSpace(rest)
	e := &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Text: cmp.Or(rest, admin)}}
	e.Reply.Code, _ = strconv.Atoi(number)
	switch e.Reply.Code {
	case 1:
		e.Code = fetch.ErrNotFound
	case 2:
		e.Code, e.Retry = fetch.ErrBusy, true
	case 3:
		location, _, _ := strings.Cut(rest, "\n")
		to := newMenu(g).entry(location).URL
		if to.IsZero() {
			e.Code = fetch.ErrRedirect
			e.Err = errors.New("the server does not return the new location of the item")
			return e
		}
		return &movedError{to, e.Reply}
	}
	return e
}

// attributes requests the attributes of g. It returns none if the server does not support Gopher+.
func (d *opener) attributes(ctx context.Context, g uri.Gopher) ([]Attribute, error) {
	g.Plus, g.Search, g.Form = "!", "", nil
	out, err := newRequest(g, block{})
	if err != nil {
		return nil, err
	}
	c, err := d.ask(ctx, g, out)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer c.net.ReplyTimeout(d.env.Timeouts().Reply)()
	h, ok, err := c.plusHeader()
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, c.failure()
	case h.isError:
		return nil, d.plusFailure(c, h, g)
	}
	c.traceLine(h.String())
	var text strings.Builder // for the recorder
	list, err := parseAttributes(io.TeeReader(c.content(h, false), &text))
	for line := range strings.Lines(text.String()) {
		c.traceLine(strings.TrimRight(line, "\r\n"))
	}
	return list, err
}
