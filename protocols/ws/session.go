package ws

import (
	"cmp"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch"
)

// closeTimeout limits the write of the close frame. The system has room for it unless the server
// does not read.
const closeTimeout = 10 * time.Millisecond

type session struct {
	ws     *websocket.Conn
	stream *stream
	end    context.CancelFunc // ends keepAlive

	receiving sync.Mutex
	rest      []byte // of the message that Read is returning
	failure   error  // final error, for later calls

	sending sync.Mutex
	closed  sync.Once
	status  atomic.Int32 // to close with after a failed read; 0 before one
	since   atomic.Int64 // start of the wait for a message, in Unix nanoseconds; 0 if no call waits
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

func (s *session) Receive() (fetch.Message, error) {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	return s.receive()
}

func (s *session) receive() (fetch.Message, error) {
	if s.failure != nil {
		return fetch.Message{}, s.failure
	}
	m, err := s.next()
	if err != nil {
		s.failure = s.stream.explain(err)
		s.status.Store(int32(closeStatus(s.failure)))
		s.end()
		return fetch.Message{}, s.failure
	}
	return m, nil
}

// next reads a message. It counts as one piece: see fetch.Conn.Piece.
func (s *session) next() (fetch.Message, error) {
	s.since.Store(time.Now().UnixNano())
	kind, r, err := s.ws.Reader(context.Background())
	s.since.Store(0)
	if err != nil {
		return fetch.Message{}, err
	}
	defer s.stream.conn.Piece()()
	data, err := io.ReadAll(r)
	if err == nil {
		err = s.stream.cutOff() // if the connection ends between two frames of a message, r returns no error
	}
	if err != nil {
		return fetch.Message{}, err
	}
	m := fetch.Message{Text: kind == websocket.MessageText, Data: data}
	if m.Text && !utf8.Valid(data) { // RFC 6455, section 8.1
		return m, errText
	}
	return m, nil
}

// Read returns the messages as they arrive, with a line feed after each text message.
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

func (s *session) Send(m fetch.Message) error {
	kind := websocket.MessageBinary
	if m.Text {
		if kind = websocket.MessageText; !utf8.Valid(m.Data) {
			return fetch.ErrRequest.Errorf("a text message must be valid UTF-8")
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
	if err := s.Send(fetch.Message{Text: utf8.Valid(p), Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close sends a close frame, if that does not block, and does not wait for the server's.
func (s *session) Close() error {
	s.closed.Do(func() {
		s.end()
		s.stream.closing.Store(true)
		if !s.sending.TryLock() { // the server does not even read the current message
			s.stream.conn.Abort()
			s.ws.CloseNow()
			return
		}
		defer s.sending.Unlock()
		s.stream.conn.SetWriteDeadline(time.Now().Add(closeTimeout))
		s.ws.Close(cmp.Or(websocket.StatusCode(s.status.Load()), websocket.StatusNormalClosure), "")
		s.stream.Close()
	})
	return nil
}

// keepAlive pings the server regularly and aborts the connection if there is no pong. Pongs are
// read by calls that wait for messages, so it does nothing while there are none.
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
			s.stream.failed(fetch.ErrNetwork.Retryf("the server does not respond to pings"))
			s.stream.conn.Abort()
			return
		}
	}
}

var _ fetch.Messenger = (*session)(nil)
