package sftp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/filexfer"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// A session multiplexes concurrent requests: one goroutine writes them, another delivers responses.
type session struct {
	channel   io.ReadWriter // the SSH channel
	closeConn func()        // closes the connection without waiting
	peer      *fetch.Conn   // whose address the policy checks; nil behind another SSH server
	remote    net.Addr
	times     fetch.Timeouts

	slots int // guarded by driver.mu

	progress *progress     // of the connection
	received atomic.Int64  // when the last complete message arrived
	done     chan struct{} // closed when err is set

	mu sync.Mutex
	outbox
	pending   map[uint32]*request
	nextID    uint32
	abandoned int // abandoned requests
	err       error
}

type outbox struct {
	wake    chan struct{} // signals that out is not empty
	out     []byte
	written []chan struct{} // closed after out is written
}

type request struct {
	id       uint32
	typ      filexfer.Type
	response chan response // of capacity 1

	// The fields below are guarded by session.mu.
	discard   bool // the response is discarded
	abandoned bool // by abandon, as opposed to sendAndDiscard
}

type response struct {
	filexfer.Message
	buf *buffer
}

func (r response) release() {
	if r.buf != nil {
		buffers.Put(r.buf)
	}
}

// A buffer holds a message with the data of one READ.
type buffer [filexfer.MaxData + 64]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func newSession(channel io.ReadWriter, closeConn func(), times fetch.Timeouts, progress *progress) *session {
	return &session{channel: channel, closeConn: closeConn, times: times, progress: progress,
		outbox: outbox{wake: make(chan struct{}, 1)}, done: make(chan struct{}),
		pending: make(map[uint32]*request)}
}

// minVersion is the oldest version whose messages for reading are those of version 3. Some vendors
// have not gone beyond it.
const minVersion = 2

// maxText limits the text of a shell in an error, in bytes.
const maxText = 200

// shellText returns the text that a shell sends before SFTP or in place of it, or "" if the server
// sends a message of SFTP, which begins with a short length.
func shellText(r *bufio.Reader) string {
	first, err := r.Peek(1)
	if err != nil || first[0] == 0 {
		return ""
	}
	b, _ := r.Peek(min(r.Buffered(), maxText))
	text, _, _ := strings.Cut(string(b), "\x00") // a message may follow
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
}

func (s *session) negotiate() error {
	if _, err := s.channel.Write(filexfer.Append(nil, filexfer.TypeInit, filexfer.Version)); err != nil {
		return connError(err)
	}
	r := bufio.NewReaderSize(s.channel, 64<<10)
	if text := shellText(r); text != "" {
		return &fetch.Error{Code: fetch.ErrProtocol, Reply: fetch.Reply{Text: text},
			Err:  errors.New("the server sent text in place of SFTP"),
			Hint: "on the server, let the login print nothing and permit the subsystem sftp"}
	}
	m, err := filexfer.Read(r, func(n int) []byte { return make([]byte, n) })
	switch {
	case errors.Is(err, filexfer.ErrMalformed), err == nil && m.Type != filexfer.TypeVersion:
		return fetch.ErrProtocol.Errorf("the server did not send its SFTP version")
	case err != nil:
		return connError(err)
	case m.ID < minVersion || m.ID > filexfer.Version:
		return fetch.ErrProtocol.Errorf("the server selected SFTP version %d, which is not supported", m.ID)
	}
	go s.read(r)
	go s.write()
	return nil
}

// send queues a request without waiting. The caller must wait for the response or abandon the
// request, and must limit the number of outstanding requests.
func (s *session) send(t filexfer.Type, fields ...any) *request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue(t, fields...)
}

func (s *session) queue(t filexfer.Type, fields ...any) *request {
	r := &request{typ: t, response: make(chan response, 1)}
	if s.err != nil {
		return r // wait returns the error
	}
	for s.pending[s.nextID] != nil {
		s.nextID++
	}
	r.id = s.nextID
	s.nextID++
	s.pending[r.id] = r
	s.out = filexfer.Append(s.out, t, r.id, fields...)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return r
}

func (s *session) write() {
	var buf []byte
	for {
		select {
		case <-s.wake:
		case <-s.done:
			return
		}
		runtime.Gosched() // to other goroutines, which may have requests
		s.mu.Lock()
		out, written := s.out, s.written
		s.out, s.written = buf[:0], nil
		s.mu.Unlock()
		if _, err := s.channel.Write(out); err != nil {
			s.fail(connError(err))
			return
		}
		for _, w := range written {
			close(w)
		}
		buf = out
	}
}

func (s *session) read(r *bufio.Reader) {
	for {
		var buf *buffer
		m, err := filexfer.Read(r, func(n int) []byte {
			if n > len(buf) {
				return make([]byte, n)
			}
			buf = buffers.Get().(*buffer)
			return buf[:n]
		})
		if err == nil {
			now := time.Now()
			s.received.Store(now.UnixNano())
			s.progress.advanceTo(now)
			err = s.deliver(response{m, buf})
		}
		switch {
		case err == nil:
		case errors.Is(err, filexfer.ErrMalformed):
			s.fail(&fetch.Error{Code: fetch.ErrProtocol, Err: err})
			return
		default:
			s.fail(connError(err))
			return
		}
	}
}

func connError(err error) error {
	var e *fetch.Error
	if errors.As(err, &e) {
		return e
	}
	return fetch.ErrNetwork.Retryf("%w: %w", remotefile.ErrLost, wire.Unexpected(err))
}

func (s *session) deliver(resp response) error {
	s.mu.Lock()
	r := s.pending[resp.ID]
	delete(s.pending, resp.ID)
	waiting := r != nil && !r.discard
	if r != nil && r.abandoned {
		s.abandoned--
	}
	s.mu.Unlock()
	switch {
	case r == nil:
		resp.release()
		return fetch.ErrProtocol.Errorf("unsolicited response (%v)", resp.Type)
	case waiting:
		r.response <- resp
	default:
		resp.release()
	}
	return nil
}

// abandon discards the response to r. Until that arrives, the connection is not used for new
// requests, because the server may no longer be responding.
func (s *session) abandon(r *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[r.id] == r && !r.discard {
		r.discard, r.abandoned = true, true
		s.abandoned++
	}
}

// The channel is closed after the request is written.
func (s *session) sendAndDiscard(t filexfer.Type, fields ...any) <-chan struct{} {
	written := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue(t, fields...).discard = true
	s.written = append(s.written, written)
	return written
}

func (s *session) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil && s.abandoned == 0
}

func (s *session) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *session) fail(err error) {
	s.mu.Lock()
	first := s.err == nil
	if first {
		s.err = err
		close(s.done)
	}
	s.mu.Unlock()
	if first {
		s.closeConn()
	}
}

func (s *session) close() { s.fail(net.ErrClosed) }

// wait waits for the response to r until ctx is done, stop is closed, or a timeout expires: the idle
// timeout for READ, the reply timeout for other requests. It does not abandon r.
func (s *session) wait(ctx context.Context, stop <-chan struct{}, r *request) (response, error) {
	select {
	case resp := <-r.response:
		return resp, nil
	default:
	}
	start := time.Now()
	limit, last := s.times.Reply, &s.received
	if r.typ == filexfer.TypeRead {
		limit, last = s.times.Idle, &s.progress.at
		s.progress.advanceTo(start)
	}
	var timeout <-chan time.Time
	var timer *time.Timer
	if limit > 0 {
		timer = time.NewTimer(limit)
		defer timer.Stop()
		timeout = timer.C
	}
	for {
		select {
		case resp := <-r.response:
			return resp, nil
		case <-ctx.Done():
			return response{}, context.Cause(ctx)
		case <-stop:
			return response{}, net.ErrClosed
		case <-s.done:
			select {
			case resp := <-r.response:
				return resp, nil
			default:
			}
			return response{}, s.failure()
		case <-timeout:
			since := start
			if at := time.Unix(0, last.Load()); at.After(since) {
				since = at
			}
			remaining := limit - time.Since(since)
			if remaining <= 0 {
				return response{}, &wire.TimeoutError{Op: "read", Idle: limit}
			}
			timer.Reset(remaining)
		}
	}
}
