package sftp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/pace"
)

// The connect timeout limits the total time, excluding prompts to the user.
func (d *opener) connect(ctx context.Context, p *route) (_ *session, err error) {
	c := newClock(ctx, d.env.Timeouts().Connect)
	defer c.stop()
	l := &chain{times: d.env.Timeouts()}
	// On timeout, closing the connection ends all waits.
	stop := context.AfterFunc(c.ctx, l.close)
	defer func() {
		if !stop() && err == nil {
			err = context.Cause(c.ctx)
		}
		if err == nil {
			return
		}
		l.close()
		if cause := context.Cause(c.ctx); cause != nil && !errors.Is(err, cause) {
			switch fetch.CodeOf(err) {
			case "", fetch.ErrNetwork, fetch.ErrProtocol:
				err = cause
			}
		}
	}()
	for i, h := range p.hops {
		if err := d.connectHop(c.ctx, l, h); err != nil {
			return nil, err
		}
		lg := &login{driver: d, ctx: ctx, clock: c, hop: h, foreign: p.foreign}
		if err := d.handshake(l, lg); err != nil {
			if len(p.hops) > 1 {
				err = atHop(err, h, i < len(p.hops)-1)
			}
			return nil, err
		}
	}
	return l.subsystem()
}

func atHop(err error, h hop, before bool) error {
	var e *fetch.Error
	if !before || !errors.As(err, &e) {
		return err
	}
	dup := *e
	dup.Err = fmt.Errorf("jump host %s: %w", h.addr(), e.Err)
	return &dup
}

// A clock enforces the connect timeout. It can be paused.
type clock struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	timer     *time.Timer // nil without a limit
	remaining time.Duration
	start     time.Time
}

func newClock(ctx context.Context, limit time.Duration) *clock {
	c := &clock{remaining: limit, start: time.Now()}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	if limit > 0 {
		c.timer = time.AfterFunc(limit, func() {
			c.cancel(fetch.ErrNetwork.Retryf("no connection within %v", limit))
		})
	}
	return c
}

func (c *clock) pause() (resume func()) {
	if c.timer == nil || !c.timer.Stop() {
		return func() {}
	}
	c.remaining -= time.Since(c.start)
	return func() {
		c.start = time.Now()
		c.timer.Reset(max(c.remaining, time.Second))
	}
}

func (c *clock) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.cancel(nil)
}

type chain struct {
	times     fetch.Timeouts
	conn      *fetch.Conn // to the first hop
	raw       net.Conn    // to the last connected hop
	ssh       ssh.Conn    // over raw; nil before the handshake
	progress  progress
	firstConn atomic.Pointer[fetch.Conn]
}

// close closes the connection to the first hop, which also ends the others. It does not wait.
func (l *chain) close() {
	if c := l.firstConn.Load(); c != nil {
		c.Close()
	}
}

func (d *opener) connectHop(ctx context.Context, l *chain, h hop) error {
	if l.conn == nil {
		conn, err := d.env.Dial(ctx, "tcp", h.addr())
		if err != nil {
			return err
		}
		conn.Record(context.Background(), fetch.Taps{}) // the bytes are encrypted
		conn.SetIdle(0)                                 // idle connections in the pool receive nothing
		l.conn, l.raw = conn, &metered{Conn: conn, chain: l}
		l.firstConn.Store(conn)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	payload := ssh.Marshal(struct {
		Host   string
		Port   uint32
		Origin string
		From   uint32
	}{h.host, uint32(h.port), "127.0.0.1", 0})
	ch, reqs, err := l.ssh.OpenChannel("direct-tcpip", payload) // RFC 4254, section 7.2
	if err != nil {
		var openErr *ssh.OpenChannelError
		if errors.As(err, &openErr) {
			return fetch.ErrNetwork.Errorf("the jump host cannot connect to %s: %w", h.addr(), err)
		}
		return setupError(err)
	}
	go ssh.DiscardRequests(reqs)
	go io.Copy(io.Discard, ch.Stderr())
	l.raw = &tunnel{Channel: ch, addr: tunnelAddr(h.addr())}
	return nil
}

func (d *opener) handshake(l *chain, lg *login) error {
	cfg, err := lg.config()
	if err != nil {
		return err
	}
	hello := &greeting{Conn: l.raw}
	conn, chans, reqs, err := ssh.NewClientConn(hello, lg.hop.addr(), cfg)
	lg.done()
	defer lg.settle(unclear)
	if err != nil {
		return lg.handshakeError(err, hello.text())
	}
	lg.settle(accepted)
	l.ssh = conn
	go ssh.DiscardRequests(reqs)
	go func() {
		for c := range chans {
			c.Reject(ssh.Prohibited, "not a server")
		}
	}()
	return nil
}

// subsystem starts SFTP on the connection (RFC 4254, section 6.5).
func (l *chain) subsystem() (*session, error) {
	ch, reqs, err := l.ssh.OpenChannel("session", nil)
	if err != nil {
		return nil, subsystemError(err)
	}
	go ssh.DiscardRequests(reqs)
	go io.Copy(io.Discard, ch.Stderr())
	ok, err := ch.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"}))
	if err != nil {
		return nil, subsystemError(err)
	}
	if !ok {
		return nil, fetch.ErrRefused.Errorf("the server refused the sftp subsystem")
	}
	s := newSession(ch, l.close, l.times, &l.progress)
	if _, forwarded := l.raw.(*tunnel); !forwarded {
		s.peer = l.conn
	}
	s.remote = l.raw.RemoteAddr()
	if err := s.negotiate(); err != nil {
		return nil, err
	}
	return s, nil
}

func subsystemError(err error) error {
	var openErr *ssh.OpenChannelError
	if errors.As(err, &openErr) {
		return &fetch.Error{Code: fetch.ErrRefused, Err: err}
	}
	return setupError(err)
}

func setupError(err error) error {
	return fetch.ErrNetwork.Retryf("connection lost: %w", wire.Unexpected(err))
}

// progress is the time, in Unix nanoseconds, up to which the server has kept the minimum rate
// pace.LeastRate. Each received byte advances it by the time that the byte may take at that rate,
// because a response cannot be used before it is complete.
type progress struct{ at atomic.Int64 }

func (p *progress) advanceTo(t time.Time) {
	for at := p.at.Load(); at < t.UnixNano() && !p.at.CompareAndSwap(at, t.UnixNano()); at = p.at.Load() {
	}
}

// add advances the time for n received bytes, at most to now.
func (p *progress) add(n int) {
	gain, now := int64(n)*int64(time.Second)/pace.LeastRate, time.Now().UnixNano()
	for at := p.at.Load(); !p.at.CompareAndSwap(at, min(now, at+gain)); at = p.at.Load() {
	}
}

// A metered connection records the progress of reads in chain.progress and limits the time of each
// write. The idle timeout of fetch.Conn is unsuitable, because it would end idle connections in the
// pool.
type metered struct {
	*fetch.Conn
	chain *chain
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if n > 0 {
		m.chain.progress.add(n)
	}
	return n, err
}

func (m *metered) Write(p []byte) (int, error) {
	if idle := m.chain.times.Idle; idle > 0 {
		m.Conn.SetWriteDeadline(time.Now().Add(idle))
	}
	return m.Conn.Write(p)
}

type tunnel struct {
	ssh.Channel
	addr net.Addr
}

func (t *tunnel) LocalAddr() net.Addr              { return t.addr }
func (t *tunnel) RemoteAddr() net.Addr             { return t.addr }
func (t *tunnel) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (t *tunnel) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (t *tunnel) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

type tunnelAddr string

func (tunnelAddr) Network() string  { return "tcp" }
func (a tunnelAddr) String() string { return string(a) }

// handshakeError returns the error of a connection that failed with err. Greeting is the text before
// the server's version.
func (l *login) handshakeError(err error, greeting string) error {
	var negotiation *ssh.AlgorithmNegotiationError
	var network net.Error
	text := strings.TrimPrefix(err.Error(), "ssh: handshake failed: ")
	message, disconnected := disconnectOf(err)
	switch {
	case l.hostKeyErr != nil:
		return l.hostKeyErr
	case l.fatalErr != nil:
		return l.fatalErr
	case l.lockedFile != "":
		return l.loginError(fetch.Reply{})
	case errors.As(err, &negotiation):
		return l.negotiationError(negotiation)
	case disconnected && message.isLogin():
		l.settle(refused)
		return l.loginError(fetch.Reply{Code: message.reason, Text: message.text})
	case disconnected:
		return message.failure()
	case strings.Contains(text, "unable to authenticate"), fetch.CodeOf(err) == fetch.ErrAuth,
		strings.Contains(text, "no common public key signature algorithm"),
		l.expired && strings.Contains(text, "unexpected message type 60"):
		return l.loginError(fetch.Reply{})
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Reply: fetch.Reply{Text: greeting},
			Err: errors.New("the server closed the connection during the login")}
	case fetch.CodeOf(err) != "":
		return err
	case errors.As(err, &network), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return setupError(err)
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New(text), Reply: fetch.Reply{Text: greeting}}
}
