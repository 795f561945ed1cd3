package ldap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/ber"
)

// A session is a connection with one outstanding request. It reads only on demand, so a slow consumer
// slows down the server and the session does not buffer records.
type session struct {
	conn     *fetch.Conn
	r        *bufio.Reader
	received []byte        // the last received message
	controls element       // of that message
	id       int64         // message ID of the last request
	timeout  time.Duration // timeout for a single-message response; 0 means none
}

func (s *session) trace(sent bool, format string, args ...any) {
	if trace := s.conn.Line(); trace != nil {
		trace(sent, fmt.Sprintf(format, args...))
	}
}

// send sends a request with controls; shown is its description in the trace.
func (s *session) send(op []byte, shown string, controls ...[]byte) error {
	s.id++
	s.trace(true, "%s", shown)
	_, err := s.conn.Write(s.message(append([][]byte{op}, controls...)...))
	return err
}

func (s *session) message(op ...[]byte) []byte {
	return ber.Sequence(append([][]byte{integer(s.id)}, op...)...)
}

func integer(n int64) []byte { return ber.Bytes(ber.Universal, ber.TagInteger, ber.IntContent(n)) }

func enumerated(n int) []byte {
	return ber.Bytes(ber.Universal, tagEnumerated, ber.IntContent(int64(n)))
}

func octetString(s string) []byte { return ber.Bytes(ber.Universal, ber.TagBytes, s) }

// receive returns the next response to the last request. It is valid until the next call.
func (s *session) receive() (element, error) {
	var err error
	if s.received, err = readMessage(s.r, s.received); err != nil {
		return element{}, err
	}
	id, op, controls, err := parseMessage(s.received)
	s.controls = controls
	switch {
	case err != nil:
		return op, err
	case id == 0 && op.tag == tagExtendedResponse: // Notice of Disconnection (RFC 4511, section 4.4.1)
		r, err := parseResult(op.content)
		if err != nil {
			return op, err
		}
		s.trace(false, "notice of disconnection: %v", r)
		if err := r.err(); err != nil {
			return op, err
		}
		return op, io.ErrUnexpectedEOF
	case id != s.id:
		return op, fetch.ErrProtocol.Errorf("received a response to request %d, the last one was %d", id,
			s.id)
	}
	return op, nil
}

func (s *session) readResult(tag byte) error {
	defer s.conn.ReplyTimeout(s.timeout)()
	op, err := s.receive()
	if err != nil {
		return err
	}
	if op.tag != tag {
		return fetch.ErrProtocol.Errorf("received a response with tag %#x, want %#x", op.tag, tag)
	}
	r, err := parseResult(op.content)
	if err != nil {
		return err
	}
	s.trace(false, "%v", r)
	return r.err()
}

// bind performs a simple bind (RFC 4511, section 4.2).
func (s *session) bind(user, password string) error {
	s.id++
	s.trace(true, "%s", describeBind(user))
	if _, err := s.conn.WriteMasked(s.message(bindRequest(user, password)),
		s.message(bindRequest(user, "****"))); err != nil {
		return err
	}
	err := s.readResult(tagBindResponse)
	var e *fetch.Error
	if errors.As(err, &e) && e.Reply.Code == ldap.LDAPResultInvalidCredentials {
		e.Err = errors.New("the server refused the user name or password")
	}
	return err
}

func bindRequest(user, password string) []byte {
	const version = 3
	return ber.Group(ber.Application, ldap.ApplicationBindRequest, integer(version),
		octetString(user), ber.String(0, password))
}

func describeBind(user string) string { return fmt.Sprintf("bind %q with a password", user) }

// startTLSOID is the requestName of StartTLS (RFC 4511, section 4.14.1).
const startTLSOID = "1.3.6.1.4.1.1466.20037"

// startTLS requests StartTLS. The caller performs the handshake.
func (s *session) startTLS() error {
	request := ber.Group(ber.Application, ldap.ApplicationExtendedRequest, ber.String(0, startTLSOID))
	if err := s.send(request, "StartTLS"); err != nil {
		return err
	}
	if err := s.readResult(tagExtendedResponse); err != nil {
		var e *fetch.Error
		if errors.As(err, &e) && !e.Reply.IsZero() {
			return &fetch.Error{Code: fetch.ErrTLS, Reply: e.Reply, Retry: e.Retry,
				Err: errors.New("the server refused StartTLS")}
		}
		return err
	}
	if s.r.Buffered() > 0 { // an attacker could inject a response before TLS
		return fetch.ErrProtocol.Errorf("received data before the TLS handshake")
	}
	return nil
}

// Close closes the connection without waiting for the server.
func (s *session) Close() error { return s.conn.Close() }
