package pop

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

const (
	// maxMessages bounds the responses to LIST and UIDL, in lines.
	maxMessages = 100_000
)

// A session is a connection to a mail server after the login. It sees the maildrop as it was then
// (RFC 1939, section 4).
type session struct {
	mailsession.Session
	stamp string            // what APOP needs of the greeting; "" if it has none
	caps  map[string]string // in upper case to arguments; nil if the server does not tell
	index map[string]int    // the numbers of messages by unique-id; nil before it is asked for
}

// A lease is the use of a session by one response.
type lease = mailsession.Lease[*session]

// dial connects and logs in.
func (d *opener) dial(ctx context.Context, srv *mailsession.Server) (*session, error) {
	s := &session{}
	return s, s.Dial(ctx, d.env, srv, 0, func() error { return d.begin(ctx, srv, s) })
}

// begin has the conversation up to the login.
func (d *opener) begin(ctx context.Context, srv *mailsession.Server, s *session) error {
	s.Conn.PieceLines()
	greeting, err := s.expect("the server does not serve us", "")
	if err != nil {
		return err
	}
	s.stamp = stampOf(greeting)
	if err := s.capabilities(); err != nil {
		return err
	}
	if _, can := s.caps["STLS"]; !s.Secure && (can || d.opts.StartTLS) {
		_, err := s.expect("the server does not begin TLS", "STLS")
		if err = s.StartTLS(ctx, err); err != nil {
			return err
		}
		s.stamp = "" // it may have been planted (RFC 2595, section 4)
		if err := s.capabilities(); err != nil {
			return err
		}
	}
	return d.logIn(ctx, srv, s)
}

// capabilities fills in s.caps (RFC 2449).
func (s *session) capabilities() error {
	s.caps = nil
	if _, err := s.expect("", "CAPA"); err != nil {
		if isRefusal(err) {
			return nil // a server of RFC 1939
		}
		return err
	}
	var err error
	s.caps, err = s.Capabilities()
	return err
}

// expect sends a command, if there is one, and reads the status that answers it, which it returns
// without the indicator. A refusal is an error that says what failed.
func (s *session) expect(what, line string) (string, error) {
	if line != "" {
		if err := s.Lines.Send(line); err != nil {
			return "", err
		}
	}
	return s.status(what)
}

// status reads one status within the reply timeout (RFC 1939, section 3).
func (s *session) status(what string) (string, error) {
	defer s.InTime()()
	line, err := s.Lines.Line()
	switch {
	case err == io.EOF:
		return "", io.ErrUnexpectedEOF // one was due
	case err != nil:
		return "", err
	}
	indicator, text, _ := strings.Cut(line, " ")
	switch {
	case indicator == "+OK":
		return text, nil
	case indicator == "-ERR":
		return "", failure(what, text)
	}
	return "", s.Lines.Break(fmt.Errorf("%w %.80q", wire.ErrMalformed, line))
}

// block yields the lines of a multi-line answer, all within the time for one reply. A loop that is
// left before the end leaves the session broken.
func (s *session) block() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		defer s.InTime()()
		s.lineByLine(yield)
	}
}

// stream is block for a response whose lines go to the caller as they come: they may take any time.
func (s *session) stream() iter.Seq2[[]byte, error] { return s.lineByLine }

func (s *session) lineByLine(yield func([]byte, error) bool) {
	whole := false
	defer func() {
		if !whole {
			s.Lines.Break(net.ErrClosed)
		}
	}()
	for line, err := range s.Lines.Reader().DotLines(wire.DotOptions{}, 0) {
		if err != nil {
			yield(nil, s.Lines.Break(err))
			return
		}
		if !yield(line, nil) {
			return
		}
	}
	whole = true
}

// scan sends a command without arguments and calls take for each message of the response, of which
// there may be maxMessages.
func (s *session) scan(command string, take func(number int, value string)) error {
	if _, err := s.expect(command, command); err != nil {
		return err
	}
	n := 0
	for line, err := range s.block() {
		if n++; err == nil && n > maxMessages {
			err = &driver.Error{Code: driver.ErrTooLarge, Err: fmt.Errorf("a maildrop of more than %d messages", maxMessages)}
		}
		if err != nil {
			return err
		}
		if number, value, ok := scanLine(line); ok {
			take(number, value)
		}
	}
	return nil
}

// scanLine takes a line of LIST or UIDL apart: "1 120", "2 whqtswO00WBw418f9t5JxYwZ".
func scanLine(line []byte) (number int, value string, ok bool) {
	f := strings.Fields(string(line))
	if len(f) < 2 {
		return 0, "", false
	}
	number, err := strconv.Atoi(f[0])
	return number, f[1], err == nil && number > 0 && len(f[1]) <= maxUID
}

// find returns the number of the message with a unique-id, and 0 if there is none.
func (s *session) find(uid string) (int, error) {
	if s.index == nil {
		index := make(map[string]int)
		if err := s.scan("UIDL", func(number int, uid string) { index[uid] = number }); err != nil {
			return 0, err
		}
		s.index = index
	}
	return s.index[uid], nil
}

// uid returns the unique-id of a message, "" if the server has none.
func (s *session) uid(number int) (string, error) {
	text, err := s.expect("UIDL", fmt.Sprintf("UIDL %d", number))
	if isRefusal(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	n, uid, ok := scanLine([]byte(text))
	if !ok || n != number {
		return "", s.Lines.Break(fmt.Errorf("%w: %.80q as the unique-id of message %d", wire.ErrMalformed, text, number))
	}
	return uid, nil
}

// size returns the size of a message in bytes, -1 if the server does not tell.
func (s *session) size(number int) (int64, error) {
	text, err := s.expect(fmt.Sprintf("message %d", number), fmt.Sprintf("LIST %d", number))
	if err != nil {
		return -1, err
	}
	if n, value, ok := scanLine([]byte(text)); ok && n == number {
		return parseSize(value), nil
	}
	return -1, nil
}

// parseSize reads a size in bytes, -1 if it is none.
func parseSize(value string) int64 {
	size, err := strconv.ParseInt(value, 10, 64)
	if err != nil || size < 0 {
		return -1
	}
	return size
}

// with leases a session and runs op on it. One that does not see the maildrop as it is now is replaced
// if op returns mailsession.ErrStale. If with succeeds, the caller must end the lease.
func (d *opener) with(ctx context.Context, t *target, op func(lease) error) (lease, error) {
	return d.pool.Lease(ctx, &t.Server, nil, op)
}
