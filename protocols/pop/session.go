package pop

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// maxMessages limits the replies to LIST and UIDL, in lines.
const maxMessages = 100_000

// A session sees the maildrop as of the login (RFC 1939, section 4).
type session struct {
	mailsession.Session
	timestamp string            // the timestamp for APOP in the greeting, or ""
	caps      map[string]string // arguments by capability, in upper case; nil without CAPA
	numbers   map[string]int    // message numbers by unique-id; nil before the first UIDL
	lastUIDL  string            // the text of the last reply to UIDL with a number
}

type lease = mailsession.Lease[*session]

func (d *opener) dial(ctx context.Context, srv *mailsession.Server) (*session, error) {
	s := &session{}
	return s, s.Dial(ctx, d.env, srv, 0, func() error { return d.handshake(ctx, srv, s) })
}

func (d *opener) handshake(ctx context.Context, srv *mailsession.Server, s *session) error {
	s.Conn.PieceLines()
	greeting, err := s.expect("the server rejected the session", "")
	if err != nil {
		return err
	}
	s.timestamp = parseTimestamp(greeting)
	if err := s.capabilities(); err != nil {
		return err
	}
	if _, offered := s.caps["STLS"]; !s.Secure && (offered || d.opts.StartTLS) {
		_, err := s.expect("the server refused STLS", "STLS")
		if err = s.StartTLS(ctx, err); err != nil {
			return err
		}
		s.timestamp = "" // an attacker may have injected it (RFC 2595, section 4)
		if err := s.capabilities(); err != nil {
			return err
		}
	}
	return d.logIn(ctx, srv, s)
}

// capabilities requests the server's capabilities (RFC 2449) and sets s.caps.
func (s *session) capabilities() error {
	s.caps = nil
	if _, err := s.expect("", "CAPA"); err != nil {
		if isRefusal(err) {
			return nil // the server implements RFC 1939 only
		}
		return err
	}
	var err error
	s.caps, err = s.Capabilities()
	return err
}

// expect sends a command, unless line is "", and reads the status reply. It returns the text after
// the status indicator. If the reply is -ERR, the error starts with desc.
func (s *session) expect(desc, line string) (string, error) {
	if line != "" {
		if err := s.Lines.Send(line); err != nil {
			return "", err
		}
	}
	return s.status(desc)
}

// status reads one status reply (RFC 1939, section 3) within the reply timeout.
func (s *session) status(desc string) (string, error) {
	line, err := s.reply()
	if err != nil {
		return "", err
	}
	return s.parseStatus(desc, line)
}

func (s *session) reply() (string, error) {
	defer s.ReplyTimeout()()
	line, err := s.Lines.Line()
	return line, wire.Unexpected(err)
}

func (s *session) parseStatus(desc, line string) (string, error) {
	indicator, text, _ := strings.Cut(line, " ")
	switch {
	case indicator == "+OK":
		return text, nil
	case indicator == "-ERR":
		return "", failure(desc, text)
	}
	return "", s.Lines.Break(fmt.Errorf("%w %.80q", wire.ErrMalformed, line))
}

// dotLines yields the lines of a multi-line reply. If the loop stops early, the session is broken.
func (s *session) dotLines(yield func([]byte, error) bool) {
	complete := false
	defer func() {
		if !complete {
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
	complete = true
}

// scan returns an error after maxMessages lines.
func (s *session) scan(command string, handle func(number int, value string)) error {
	if _, err := s.expect(command, command); err != nil {
		return err
	}
	defer s.ReplyTimeout()()
	n := 0
	for line, err := range s.dotLines {
		if n++; err == nil && n > maxMessages {
			err = fetch.ErrTooLarge.Errorf("the maildrop has more than %d messages", maxMessages)
		}
		if err != nil {
			return err
		}
		if number, value, ok := scanLine(line); ok {
			handle(number, value)
		}
	}
	return nil
}

// scanLine parses a line of a reply to LIST or UIDL, such as "1 120" or "2 whqtswO00WBw418f9t5JxYwZ".
func scanLine(line []byte) (number int, value string, ok bool) {
	f := strings.Fields(string(line))
	if len(f) < 2 {
		return 0, "", false
	}
	number, err := strconv.Atoi(f[0])
	return number, f[1], err == nil && number > 0 && len(f[1]) <= maxUID
}

// numberOf returns the number of the message with a unique-id, or 0 if there is none.
func (s *session) numberOf(uid string) (int, error) {
	if s.numbers == nil {
		numbers := make(map[string]int)
		if err := s.scan("UIDL", func(number int, uid string) { numbers[uid] = number }); err != nil {
			return 0, err
		}
		s.numbers = numbers
	}
	return s.numbers[uid], nil
}

// uid sends line, which is UIDL or "" if it was sent already, and returns the unique-id of a message, or ""
// if the server has none.
func (s *session) uid(number int, line string) (string, error) {
	text, err := s.expect("UIDL", line)
	if s.lastUIDL = text; isRefusal(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	n, uid, ok := scanLine([]byte(text))
	if !ok || n != number {
		return "", s.Lines.Break(fmt.Errorf("%w: %.80q as the unique-id of message %d",
			wire.ErrMalformed, text, number))
	}
	return uid, nil
}

// retrieve sends RETR, and UIDL before it: replies of POP do not name the message, and the reply to UIDL
// shows that they are in step with the commands. A server may have sent an earlier one twice. If UIDL was
// sent already, its reply must not come again.
func (s *session) retrieve(number int, uid string, sent bool) (status string, err error) {
	uidl, retr := fmt.Sprintf("UIDL %d", number), fmt.Sprintf("RETR %d", number)
	if !sent {
		if _, ok := s.caps["PIPELINING"]; ok { // RFC 2449, section 6.6
			if err := s.Lines.Queue(uidl); err != nil {
				return "", err
			}
			if err := s.Lines.Send(retr); err != nil {
				return "", err
			}
			uidl, retr = "", ""
		}
		if err := s.confirm(number, uid, uidl); err != nil {
			return "", err
		}
	}
	status, err = s.expect(fmt.Sprintf("message %d", number), retr)
	if err == nil && status != "" && status == s.lastUIDL {
		err = s.Lines.Break(fetch.ErrProtocol.Errorf("the reply to RETR is that to UIDL: +OK %.80s", status))
	}
	return status, err
}

// confirm checks that a message has the unique-id. Line is as for uid.
func (s *session) confirm(number int, uid, line string) error {
	got, err := s.uid(number, line)
	if err == nil && got != "" && got != uid {
		err = s.Lines.Break(fetch.ErrProtocol.Errorf("message %d has the unique-id %.80q, not %.80q",
			number, got, uid))
	}
	return err
}

// size returns the size of a message in bytes, or -1 if the reply does not contain it.
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

// parseSize parses a size in bytes. It returns -1 if value is not one.
func parseSize(value string) int64 {
	size, err := strconv.ParseInt(value, 10, 64)
	if err != nil || size < 0 {
		return -1
	}
	return size
}
