package http3

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"

	"github.com/urlget/urlget/fetch"
)

// A stream is one request and its answer.
type stream struct {
	quic    *quic.Stream
	frames  frames
	release func()
	stop    func() bool // unties it from the request's context
	ending  sync.Once

	body  io.Closer   // of the request; nil if it has none
	sent  atomic.Bool // all of the request was
	mu    sync.Mutex
	cause error // why we cancelled it
}

// roundTrip sends a request and reads the head of the answer. Release is called once, when nothing
// more is to come.
func (c *conn) roundTrip(req *http.Request, release func()) (*http.Response, error) {
	s := &stream{release: release}
	if hasBody(req) {
		s.body = req.Body
	}
	var err error
	if s.quic, err = c.quic.OpenStreamSync(req.Context()); err != nil {
		if s.body != nil {
			s.body.Close()
		}
		release()
		return nil, &lostError{unseen: true, err: noAnswer(err)}
	}
	s.frames.src = bufio.NewReader(s.quic)
	s.stop = context.AfterFunc(req.Context(), func() { s.cancel(context.Cause(req.Context())) })
	var resp *http.Response
	if err = errUnseen; c.await(s) {
		resp, err = s.exchange(req)
		c.answered(s)
	}
	if err != nil {
		err = s.explain(err)
		s.end()
		return nil, err
	}
	state := c.quic.ConnectionState().TLS
	resp.TLS, resp.Request = &state, req
	return resp, nil
}

// number is that of the stream in its connection.
func (s *stream) number() uint64 { return uint64(s.quic.StreamID()) }

func (s *stream) exchange(req *http.Request) (*http.Response, error) {
	if err := s.send(req); err != nil {
		return nil, err
	}
	resp, err := s.head()
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified {
		s.end()
		resp.Body = http.NoBody
		return resp, nil
	}
	resp.Body = &responseBody{stream: s, left: resp.ContentLength}
	return resp, nil
}

// send sends the head of a request, and begins to send its body.
func (s *stream) send(req *http.Request) error {
	trace := httptrace.ContextClientTrace(req.Context())
	if trace == nil {
		trace = new(httptrace.ClientTrace)
	}
	head, err := requestHead(req, trace)
	if err != nil {
		return err
	}
	if _, err := s.quic.Write(head); err != nil {
		return s.refused(err)
	}
	if trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
	wrote := func(err error) {
		if trace.WroteRequest != nil {
			trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
		}
	}
	if s.body == nil {
		s.sent.Store(true)
		s.quic.Close()
		wrote(nil)
		return nil
	}
	go func() { wrote(s.upload(req.Body, req.ContentLength)) }()
	return nil
}

// refused returns nil if the server only wants nothing more of the request: it may answer all the same
// (RFC 9114, section 4.1).
func (s *stream) refused(err error) error {
	var stopped *quic.StreamError
	if errors.As(err, &stopped) && stopped.Remote {
		return nil
	}
	return err
}

// upload sends the body of a request: length bytes, or as many as there are if it is not positive.
func (s *stream) upload(body io.ReadCloser, length int64) error {
	defer body.Close()
	p := make([]byte, 32<<10)
	var header []byte
	for total := int64(0); ; {
		n, err := body.Read(p)
		total += int64(n)
		if length > 0 && (total > length || err == io.EOF && total < length) {
			err = fmt.Errorf("the content to send has not the %d bytes that were announced", length)
		}
		if err != nil && err != io.EOF {
			s.cancel(err)
			return err
		}
		if n > 0 {
			header = appendFrameHeader(header[:0], frameData, n)
			if _, err := s.quic.Write(header); err != nil {
				return err
			}
			if _, err := s.quic.Write(p[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			s.sent.Store(true)
			return s.quic.Close()
		}
	}
}

// head reads the head of the answer, and over informational ones.
func (s *stream) head() (*http.Response, error) {
	for left := uint64(maxHead); ; {
		kind, length, err := s.next()
		switch {
		case err != nil:
			return nil, err
		case kind == frameData:
			return nil, &malformedError{errFrameUnexpected, errors.New("content comes before the head of the answer")}
		case length > left:
			return nil, errTooLong
		}
		left -= length
		if kind != frameHeaders {
			if err := s.frames.skip(length); err != nil {
				return nil, err
			}
			continue
		}
		block, err := s.frames.read(length)
		if err != nil {
			return nil, err
		}
		resp, err := answerHead(block)
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, malformed("the server switches to another protocol")
		case resp.StatusCode >= 200:
			return resp, nil
		}
	}
}

// next reads the beginning of a frame that may be on the stream of a request.
func (s *stream) next() (kind, length uint64, err error) {
	kind, length, err = s.frames.next()
	if err != nil {
		return 0, 0, err
	}
	switch kind {
	case framePushPromise, frameCancelPush, frameSettings, frameGoAway, frameMaxPushID,
		framePriority, framePing, frameWindowUpdate, frameContinuation:
		return 0, 0, &malformedError{errFrameUnexpected, fmt.Errorf("a frame of type %#x is out of place", kind)}
	}
	return kind, length, nil
}

// cancel makes reads and writes of the stream fail because of cause.
func (s *stream) cancel(cause error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = cause
	}
	s.mu.Unlock()
	s.abandon(errRequestCancelled)
}

func (s *stream) abandon(code quic.StreamErrorCode) {
	s.quic.CancelRead(code)
	if !s.sent.Load() {
		s.quic.CancelWrite(code)
	}
	if s.body != nil {
		s.body.Close()
	}
}

// end gives the stream up, or does nothing to one that is complete.
func (s *stream) end() {
	s.ending.Do(func() {
		s.stop()
		s.abandon(errRequestCancelled)
		s.release()
	})
}

// A lostError is about a request that was not answered, as its connection or its stream ended.
type lostError struct {
	unseen   bool // the server did nothing for it
	fallBack bool // the server wants it by TCP
	err      *fetch.Error
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// errUnseen is about a request that the server does not get to, as it is leaving.
var errUnseen = &lostError{unseen: true, err: noAnswer(errors.New("the server takes no more requests on this connection"))}

func noAnswer(err error) *fetch.Error {
	return &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: fmt.Errorf("no answer: %w", ending(err))}
}

// explain says what an error before the answer means.
func (s *stream) explain(err error) error {
	var wrong *malformedError
	s.mu.Lock()
	cause := s.cause
	s.mu.Unlock()
	switch {
	case cause != nil:
		return cause
	case errors.As(err, &wrong):
		s.quic.CancelRead(quic.StreamErrorCode(wrong.code))
		return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("the head of the answer is cut off")}
	case err == io.EOF, lost(err):
		code := codeOf(err)
		return &lostError{unseen: code == errRequestRejected || code == errVersionFallback,
			fallBack: code == errVersionFallback, err: noAnswer(err)}
	}
	return err
}

// codeOf returns the code with which a server reset a stream, or 0.
func codeOf(err error) uint64 {
	var reset *quic.StreamError
	if errors.As(err, &reset) && reset.Remote {
		return uint64(reset.ErrorCode)
	}
	return 0
}

// ending says in words how a stream or connection ended.
func ending(err error) error {
	var (
		reset *quic.StreamError
		app   *quic.ApplicationError
	)
	switch {
	case err == io.EOF:
		return errors.New("the server ended the stream")
	case errors.As(err, &reset) && reset.Remote:
		return fmt.Errorf("the server reset the stream (%#x)", uint64(reset.ErrorCode))
	case errors.As(err, &app) && app.Remote:
		return fmt.Errorf("the server closed the connection (%#x %s)", uint64(app.ErrorCode), app.ErrorMessage)
	case errors.As(err, &app):
		return fmt.Errorf("the server broke HTTP/3 (%#x)", uint64(app.ErrorCode))
	}
	return err
}

// isSilence reports whether a connection ended as nothing came.
func isSilence(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}
