package ws

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch"
)

// A stream is a connection that records its first error, because package websocket replaces it by
// errors of its own.
type stream struct {
	conn    *fetch.Conn
	closing atomic.Bool // reads end once the close frame is sent

	ended error // returned by the next read

	mu    sync.Mutex
	cause error
	cut   error // the first error of a read
}

// Read implements io.Reader. It returns either bytes or an error, so that an error is only recorded
// if data are missing.
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

func (s *stream) broken(err error) error {
	s.mu.Lock()
	if s.cut == nil {
		s.cut = err
	}
	s.mu.Unlock()
	return s.failed(err)
}

// cutOff returns the error that ended reading, or nil. Received data can still be read after a
// write has failed.
func (s *stream) cutOff() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

func (s *stream) Write(p []byte) (int, error) {
	n, err := s.conn.Write(p)
	if s.closing.Load() {
		s.conn.SetReadDeadline(time.Unix(1, 0))
	}
	return n, s.failed(err)
}

func (s *stream) Close() error { return s.conn.Close() }

// failed records err if it is the first, and returns it.
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

// explain classifies err. It returns io.EOF if the server closed the session normally.
func (s *stream) explain(err error) error {
	var closed websocket.CloseError
	cause := s.err()
	switch {
	case s.closing.Load(): // the server's close frame only acknowledges ours
		return &fetch.Error{Code: fetch.ErrInterrupted, Err: net.ErrClosed}
	case errors.As(err, &closed):
		return closeError(closed)
	case errors.Is(err, websocket.ErrMessageTooBig):
		return &fetch.Error{Code: fetch.ErrTooLarge, Err: errTooLong}
	case errors.Is(cause, io.EOF), errors.Is(cause, io.ErrUnexpectedEOF):
		return fetch.ErrTruncated.Retryf("the connection was closed without a close frame")
	case errors.Is(cause, context.Canceled):
		return &fetch.Error{Code: fetch.ErrInterrupted, Err: cause}
	case cause != nil && fetch.CodeOf(cause) == "":
		return &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: cause}
	case cause != nil:
		return cause
	}
	var own *fetch.Error
	if errors.As(err, &own) {
		return own
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
}

// closeError returns the error for the status of the server's close frame (RFC 6455, section 7.4.1,
// and IANA's registry). It is io.EOF for a normal closure.
func closeError(c websocket.CloseError) error {
	e := &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Code: int(c.Code), Text: c.Reason},
		Err: errors.New("the server closed the session")}
	switch c.Code {
	case websocket.StatusNormalClosure, websocket.StatusNoStatusRcvd:
		return io.EOF
	case websocket.StatusGoingAway, websocket.StatusBadGateway:
		e.Retry = true
	case websocket.StatusServiceRestart, websocket.StatusTryAgainLater:
		e.Code, e.Retry = fetch.ErrBusy, true
	case websocket.StatusProtocolError, websocket.StatusInvalidFramePayloadData,
		websocket.StatusMandatoryExtension:
		e.Code = fetch.ErrProtocol
	case websocket.StatusUnsupportedData, websocket.StatusPolicyViolation,
		websocket.StatusMessageTooBig, forbidden:
		e.Code = fetch.ErrRefused
	case unauthorized:
		e.Code = fetch.ErrAuth
	}
	return e
}

// Statuses of IANA's registry that correspond to those of HTTP.
const unauthorized, forbidden websocket.StatusCode = 3000, 3003
