package ws

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch/driver"
)

// goodbyeTime is how long it may take to leave the close frame with the system, which has room for
// it unless the server does not read.
const goodbyeTime = 10 * time.Millisecond

// A session is an open WebSocket.
type session struct {
	ws     *websocket.Conn
	stream *stream
	end    context.CancelFunc // of the questions whether the server is there

	receiving sync.Mutex
	rest      []byte // of the message that Read is at
	failure   error  // the end, for later calls

	sending sync.Mutex
	closed  sync.Once
	since   atomic.Int64 // when the wait for a message began; 0 if nobody waits
}

func newSession(c *websocket.Conn, st *stream, d *opener) *session {
	c.SetReadLimit(d.opts.MaxMessage)
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{ws: c, stream: st, end: cancel}
	timeouts := d.env.Timeouts()
	every := pingInterval
	if timeouts.Idle > 0 {
		every = min(every, timeouts.Idle/2)
	}
	go s.keepAlive(ctx, every, timeouts.Reply)
	return s
}

// Receive implements driver.Messenger.
func (s *session) Receive() (driver.Message, error) {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	return s.receive()
}

func (s *session) receive() (driver.Message, error) {
	if s.failure != nil {
		return driver.Message{}, s.failure
	}
	m, err := s.next()
	if err != nil {
		s.failure = s.stream.explain(err)
		if s.failure == io.EOF && s.stream.closing.Load() {
			s.failure = net.ErrClosed // the server has only answered our close frame
		}
		s.end()
		return driver.Message{}, s.failure
	}
	return m, nil
}

// next reads a message, which is no piece of anything before it is whole.
func (s *session) next() (driver.Message, error) {
	s.since.Store(time.Now().UnixNano())
	kind, r, err := s.ws.Reader(context.Background())
	s.since.Store(0)
	if err != nil {
		return driver.Message{}, err
	}
	defer s.stream.conn.Piece()()
	data, err := io.ReadAll(r)
	if err == nil {
		err = s.stream.cutOff() // a connection that ends between two frames of a message ends r as well
	}
	if err != nil {
		return driver.Message{}, err
	}
	m := driver.Message{Text: kind == websocket.MessageText, Data: data}
	if m.Text && !utf8.Valid(data) { // RFC 6455, section 8.1
		return m, errors.New("a message of text is not UTF-8")
	}
	return m, nil
}

// Read returns the messages as they come, those of text with a line feed after each.
func (s *session) Read(p []byte) (int, error) {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	for len(s.rest) == 0 {
		m, err := s.receive()
		if err != nil {
			return 0, err
		}
		if s.rest = m.Data; m.Text {
			s.rest = append(s.rest, '\n')
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Send implements driver.Messenger.
func (s *session) Send(m driver.Message) error {
	kind := websocket.MessageBinary
	if m.Text {
		if kind = websocket.MessageText; !utf8.Valid(m.Data) {
			return &driver.Error{Code: driver.ErrRequest, Err: errors.New("a message of text has to be UTF-8")}
		}
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	if err := s.ws.Write(context.Background(), kind, m.Data); err != nil {
		return s.stream.explain(err)
	}
	return nil
}

// Write sends p as one message.
func (s *session) Write(p []byte) (int, error) {
	if err := s.Send(driver.Message{Text: utf8.Valid(p), Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close tells the server so, if that takes no time, and does not wait for its answer.
func (s *session) Close() error {
	s.closed.Do(func() {
		s.end()
		if !s.sending.TryLock() { // the server does not take even what is being sent
			s.stream.conn.Abort()
			s.ws.CloseNow()
			return
		}
		defer s.sending.Unlock()
		s.stream.closing.Store(true)
		s.stream.conn.SetWriteDeadline(time.Now().Add(goodbyeTime))
		s.ws.Close(websocket.StatusNormalClosure, "")
		s.stream.Close()
	})
	return nil
}

// keepAlive asks the server now and then whether it is still there, and ends the session if it does
// not answer. The answers are read by those who wait for messages, so nothing is asked and nothing
// follows from silence while nobody does.
func (s *session) keepAlive(ctx context.Context, every, limit time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		since := s.since.Load()
		if since == 0 {
			continue
		}
		wait := ctx
		cancel := func() {}
		if limit > 0 {
			wait, cancel = context.WithTimeout(ctx, limit)
		}
		err := s.ws.Ping(wait)
		cancel()
		if err != nil && ctx.Err() == nil && s.since.Load() == since {
			s.stream.failed(&driver.Error{Code: driver.ErrNetwork, Retry: true, Err: errors.New("the server does not answer any more")})
			s.stream.conn.Abort()
			return
		}
	}
}

var (
	_ io.ReadWriteCloser = (*session)(nil)
	_ driver.Messenger   = (*session)(nil)
)
