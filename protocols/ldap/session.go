package ldap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/wire"
)

// A session is a connection with one request outstanding. It reads when its
// user does, so that a slow reader slows the server down and not the memory.
type session struct {
	raw     *wire.Conn
	conn    net.Conn // raw, or TLS over it
	release func() bool
	r       *bufio.Reader
	id      int64 // of the last request
	trace   func(sent bool, line string)
}

func newSession(conn *wire.Conn, trace func(bool, string)) *session {
	if trace == nil {
		trace = func(bool, string) {}
	}
	s := &session{raw: conn, trace: trace, release: func() bool { return true }}
	s.use(conn)
	return s
}

// use goes on over conn.
func (s *session) use(conn net.Conn) { s.conn, s.r = conn, bufio.NewReaderSize(conn, 32<<10) }

// send sends a request; shown describes it for the trace.
func (s *session) send(op *ber.Packet, shown string) error {
	s.id++
	p := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
	p.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, s.id, ""))
	p.AppendChild(op)
	s.trace(true, shown)
	_, err := s.conn.Write(p.Bytes())
	return err
}

// receive returns the next answer to the request.
func (s *session) receive() (element, error) {
	content, err := readMessage(s.r)
	if err != nil {
		return element{}, err
	}
	id, op, err := parseMessage(content)
	switch {
	case err != nil:
		return op, err
	case id == 0 && op.tag == tagExtendedResponse: // RFC 4511, section 4.4.1: it is about to disconnect
		r, err := parseResult(op.content)
		if err != nil {
			return op, err
		}
		if err := r.err(); err != nil {
			return op, err
		}
		return op, io.ErrUnexpectedEOF
	case id != s.id:
		return op, violation("an answer to request %d came, where the last was %d", id, s.id)
	}
	return op, nil
}

// done reads an answer that consists of a result alone.
func (s *session) done(tag byte) error {
	op, err := s.receive()
	if err != nil {
		return err
	}
	if op.tag != tag {
		return violation("the answer is of kind %#x, not %#x", op.tag, tag)
	}
	r, err := parseResult(op.content)
	if err != nil {
		return err
	}
	s.trace(false, r.String())
	return r.err()
}

// bind logs in (RFC 4511, section 4.2).
func (s *session) bind(user, password string) error {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationBindRequest, nil, "")
	p.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, int64(3), ""))
	p.AppendChild(octets(user))
	p.AppendChild(ber.NewString(ber.ClassContext, ber.TypePrimitive, 0, password, ""))
	if err := s.send(p, bindStep(user)); err != nil {
		return err
	}
	return s.done(tagBindResponse)
}

func bindStep(user string) string { return fmt.Sprintf("bind %q with a password", user) }

// startTLS asks for TLS, which the caller then begins.
func (s *session) startTLS() error {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationExtendedRequest, nil, "")
	p.AppendChild(ber.NewString(ber.ClassContext, ber.TypePrimitive, 0, "1.3.6.1.4.1.1466.20037", ""))
	if err := s.send(p, "StartTLS"); err != nil {
		return err
	}
	if err := s.done(tagExtendedResponse); err != nil {
		var e *fetch.Error
		if errors.As(err, &e) && !e.Reply.IsZero() {
			return &fetch.Error{Code: fetch.ErrTLS, Reply: e.Reply, Retry: e.Retry, Err: errors.New("the server refuses StartTLS")}
		}
		return err
	}
	if s.r.Buffered() > 0 { // it could be taken for a protected answer
		return violation("data came before TLS")
	}
	return nil
}

// Close closes the connection without waiting for the server.
func (s *session) Close() error {
	s.release()
	return s.raw.Close()
}

func violation(format string, args ...any) error {
	return &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf(format, args...)}
}
