package ws

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch/driver"
)

// A stream is a connection that remembers why it failed: what reads messages from it has errors of
// its own for that.
type stream struct {
	conn    *driver.Conn
	closing atomic.Bool // nothing is read any more once the close frame is out

	ended error // what the next read returns

	mu    sync.Mutex
	cause error
	cut   error // the same, of reads alone
}

// Read implements io.Reader. It returns either bytes or an error, so that there is a cause only if
// something was missing.
func (s *stream) Read(p []byte) (int, error) {
	if s.ended != nil {
		return 0, s.broken(s.ended)
	}
	n, err := s.conn.Read(p)
	if n > 0 {
		s.ended = err
		return n, nil
	}
	return 0, s.broken(err)
}

// broken is failed for reads.
func (s *stream) broken(err error) error {
	s.mu.Lock()
	if s.cut == nil {
		s.cut = err
	}
	s.mu.Unlock()
	return s.failed(err)
}

// cutOff returns why nothing more can be read, nil as long as it can. What has come can be read also
// when nothing can be sent any more.
func (s *stream) cutOff() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (int, error) {
	n, err := s.conn.Write(p)
	if s.closing.Load() {
		s.conn.SetReadDeadline(time.Unix(1, 0))
	}
	return n, s.failed(err)
}

// Close implements io.Closer.
func (s *stream) Close() error { return s.conn.Close() }

// failed remembers err if it is the first, and returns it.
func (s *stream) failed(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.cause = err
	}
	return err
}

func (s *stream) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

// explain returns the reason of err: io.EOF if the server closed the session as complete.
func (s *stream) explain(err error) error {
	var closed websocket.CloseError
	cause := s.err()
	switch {
	case errors.As(err, &closed):
		return closeError(closed)
	case errors.Is(err, websocket.ErrMessageTooBig):
		return &driver.Error{Code: driver.ErrTooLarge, Err: errors.New("the server sent a message that is too long")}
	case errors.Is(cause, io.EOF), errors.Is(cause, io.ErrUnexpectedEOF):
		return &driver.Error{Code: driver.ErrTruncated, Retry: true, Err: errors.New("the connection ended, and the server had not closed the session")}
	case errors.Is(cause, context.Canceled):
		return &driver.Error{Code: driver.ErrInterrupted, Err: cause}
	case cause != nil && driver.CodeOf(cause) == "":
		return &driver.Error{Code: driver.ErrNetwork, Retry: true, Err: cause}
	case cause != nil:
		return cause
	}
	var own *driver.Error
	if errors.As(err, &own) {
		return own
	}
	return &driver.Error{Code: driver.ErrProtocol, Err: err}
}

// closeError returns what the status means with which the server closed the session (RFC 6455,
// section 7.4.1, and the registry of IANA).
func closeError(c websocket.CloseError) error {
	e := &driver.Error{Code: driver.ErrServer, Reply: driver.Reply{Code: int(c.Code), Text: c.Reason},
		Err: errors.New("the server closed the session")}
	switch c.Code {
	case websocket.StatusNormalClosure, websocket.StatusNoStatusRcvd:
		return io.EOF
	case websocket.StatusGoingAway, websocket.StatusBadGateway:
		e.Retry = true
	case websocket.StatusServiceRestart, websocket.StatusTryAgainLater:
		e.Code, e.Retry = driver.ErrBusy, true
	case websocket.StatusProtocolError, websocket.StatusInvalidFramePayloadData, websocket.StatusMandatoryExtension:
		e.Code = driver.ErrProtocol
	case websocket.StatusUnsupportedData, websocket.StatusPolicyViolation, websocket.StatusMessageTooBig, forbidden:
		e.Code = driver.ErrRefused
	case unauthorized:
		e.Code = driver.ErrAuth
	}
	return e
}

// Statuses that the registry of IANA has for what HTTP calls so.
const unauthorized, forbidden websocket.StatusCode = 3000, 3003
