package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/pace"
)

// A Conn is a connection that a driver gets from its [Env]. A read or write fails if no bytes move
// for the idle timeout. A Conn can be bound to a context, can have a time limit for a complete
// reply, and is recorded if the client has a Recorder. Deadlines set by SetDeadline and its
// variants also apply.
//
// Each call, and each byte that moves, restarts the idle timeout, so it limits the lack of progress
// and not the whole transfer. If a write fails, the peer may have received part of a command, so
// later writes fail immediately.
//
// One goroutine may read while another writes, as with any net.Conn.
type Conn struct {
	mu         sync.Mutex
	conn       net.Conn // possibly TLS
	idle       time.Duration
	connect    time.Duration // the limit for Handshake
	rd, wr     deadline
	replying   bool          // waiting for a reply: the idle timeout does not apply to reads
	replyLimit time.Duration // the time limit for the reply
	replyBegun atomic.Bool   // part of the reply has arrived
	pieces     pieces        // the units of input that must arrive at a minimum rate, except in replies
	pace       pace.Pace     // of the current piece
	inputSeen  atomic.Bool   // input has arrived
	outputSent atomic.Bool   // output was sent after the last input
	unbind     func() bool   // releases the last Bind; nil before the first
	cause      error         // why the connection is unusable: the bound context ended
	writeError error         // the error of an earlier write

	// below TLS, where the idle timeout is enforced; nil without TLS
	raw         *Conn
	above       *Conn                               // the inverse of raw
	eofSeen     atomic.Bool                         // a read has returned the end of the stream
	unannounced bool                                // see EndsUnannounced
	secured     atomic.Pointer[tls.ConnectionState] // see Secured
	rec         atomic.Pointer[stream]
	secrets     secrets     // that were sent; see remember
	sentSecret  atomic.Bool // the last write had a secret
	socket      socketPeek
}

// A deadline is the earliest of the caller's deadline, the idle timeout, the reply timeout, and the
// time limit of a piece.
type deadline struct {
	user, idle, reply, piece time.Time
	armed                    time.Time // deadline set on the inner connection
}

func (d *deadline) effective() time.Time {
	t := d.user
	for _, other := range [...]time.Time{d.idle, d.reply, d.piece} {
		if !other.IsZero() && (t.IsZero() || other.Before(t)) {
			t = other
		}
	}
	return t
}

// hasExpired reports whether t, one of the times of d, caused a timeout that has just occurred. Timers
// may fire slightly early.
func (d *deadline) hasExpired(t time.Time) bool {
	return !t.IsZero() && d.effective().Equal(t) && time.Until(t) < time.Millisecond
}

var aLongTimeAgo = time.Unix(1, 0)

var errClosedForWriting = errors.New("an earlier write failed")

// NewConn returns a Conn for a connection made for the exchange of ctx, and adds it to the
// recording of the exchange. It is for implementations of [Env]; drivers get connections from Dial.
// Connect of t limits handshakes; 0 means no limit.
func NewConn(ctx context.Context, c net.Conn, t Timeouts) *Conn {
	conn := newConn(c, t.Idle)
	conn.connect = t.Connect
	if p := provenanceIn(ctx); p != nil {
		p.dialed(conn)
		conn.record(p.recording, Taps{})
	}
	return conn
}

func newConn(c net.Conn, idle time.Duration) *Conn { return &Conn{conn: c, idle: idle} }

// announcesEnd reports whether a truncated stream can be detected.
func (c *Conn) announcesEnd() bool { return c.TLS() != nil && !c.unannounced }

// SetIdle sets the idle timeout for subsequent reads and writes. Zero means no timeout.
func (c *Conn) SetIdle(d time.Duration) {
	if c.raw != nil {
		c = c.raw
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = d
}

// ReplyTimeout limits the time for a complete reply: until done is called, all reads together may
// take at most limit. The idle timeout does not apply to them. The limit keeps a server from
// stalling a client by sending its reply byte by byte. Zero means no limit. Writes are not
// affected.
func (c *Conn) ReplyTimeout(limit time.Duration) (done func()) {
	c.setReply(true, limit)
	return func() { c.setReply(false, 0) }
}

func (c *Conn) setReply(replying bool, limit time.Duration) {
	if c.raw != nil {
		c.raw.setReply(replying, 0)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replying, c.replyLimit, c.rd.reply = replying, limit, time.Time{}
	c.pace.Begin()
	c.replyBegun.Store(false)
	if limit > 0 {
		c.rd.reply = time.Now().Add(limit)
	}
}

// Serve records that the connection serves the exchange of ctx. The address of the peer determines
// whether the response may lead to private addresses. The end of the connection may determine
// whether Body is complete. [Conn.Bind] and [Conn.Record] call Serve.
func (c *Conn) Serve(ctx context.Context) {
	if p := provenanceIn(ctx); p != nil {
		p.served(c)
	}
}

// Bind ties the connection to ctx and to the recording of its exchange. Once ctx is done, blocked
// and later reads and writes fail with an error that matches context.Cause(ctx). Release unties the
// connection. It reports whether the connection is still usable, which it is not if ctx was done
// first. Close also releases the connection.
func (c *Conn) Bind(ctx context.Context) (release func() bool) {
	c.Serve(ctx)
	s := c.record(provenanceOf(ctx).recording, Taps{})
	if ctx.Err() != nil {
		c.kill(context.Cause(ctx))
		return func() bool { return false }
	}
	b := &binding{conn: c, rec: s}
	b.stop = context.AfterFunc(ctx, func() { c.kill(context.Cause(ctx)) })
	release = b.release
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unbind = release
	return release
}

type binding struct {
	conn *Conn
	rec  *stream
	stop func() bool // of context.AfterFunc

	once   sync.Once
	usable bool
}

func (b *binding) release() bool {
	b.once.Do(b.end)
	return b.usable
}

func (b *binding) end() {
	b.conn.rec.CompareAndSwap(b.rec, nil)
	b.usable = b.stop()
}

// kill makes all reads and writes fail with cause. It holds the lock while it sets the deadline, so
// that a concurrent arm cannot replace the deadline.
func (c *Conn) kill(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = fmt.Errorf("interrupted: %w", cause)
	}
	c.conn.SetDeadline(aLongTimeAgo)
}

func (c *Conn) armRead() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return c.cause
	}
	return c.arm(&c.rd, c.conn.SetReadDeadline)
}

func (c *Conn) armWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return c.cause
	}
	if c.writeError != nil {
		return c.writeError
	}
	return c.arm(&c.wr, c.conn.SetWriteDeadline)
}

func (c *Conn) arm(d *deadline, set func(time.Time) error) error {
	d.idle = time.Time{}
	if c.idle > 0 && !(c.replying && d == &c.rd) {
		d.idle = time.Now().Add(c.idle)
	}
	return c.apply(d, set)
}

// apply sets the deadline of the inner connection if it has changed.
func (c *Conn) apply(d *deadline, set func(time.Time) error) error {
	t := d.effective()
	if t.Equal(d.armed) {
		return nil
	}
	d.armed = t
	if err := set(t); err != io.ErrClosedPipe {
		return err
	}
	return nil // net.Pipe returns this even if the peer closed; the read or write will fail
}

// explain replaces a timeout of the inner connection by its cause.
func (c *Conn) explain(op string, d *deadline, err error) error {
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	timeout := errors.Is(err, os.ErrDeadlineExceeded)
	switch {
	case c.cause != nil && (timeout || errors.Is(err, net.ErrClosed)):
		return c.cause
	case timeout && d.hasExpired(d.reply):
		return &wire.TimeoutError{Op: op, Idle: c.replyLimit, Reply: c.replyBegun.Load()}
	case timeout && d.hasExpired(d.idle):
		return &wire.TimeoutError{Op: op, Idle: c.idle}
	case timeout && d.hasExpired(d.piece):
		return &wire.TimeoutError{Op: op, Idle: c.pace.Idle, Piece: true}
	}
	return err
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	begun := c.beginPiece()
	if err := c.armRead(); err != nil {
		return 0, err
	}
	if c.raw != nil { // a TLS record can only be read once all of it has arrived
		c.raw.setPieces(wholePiece)
		defer c.raw.setPieces(noPieces)
	}
	n, err := c.conn.Read(p)
	if !begun.IsZero() {
		c.endPiece(p[:n], time.Since(begun))
	}
	if n > 0 {
		c.replyBegun.Store(true)
		c.inputSeen.Store(true)
		c.outputSent.Store(false)
		c.rec.Load().received(c.maskBytes(p[:n]))
	}
	switch err {
	case io.EOF:
		c.eofSeen.Store(true)
	case io.ErrUnexpectedEOF: // only from TLS
		err = &Error{Code: ErrTruncated, Retry: true,
			Err: fmt.Errorf("the connection was closed within a TLS record: %w", err)}
	}
	return n, c.withAwaited(c.explain("read", &c.rd, err))
}

// withAwaited completes a timeout error. With TLS, the timeout occurs in the connection below, which does
// not know what was sent.
func (c *Conn) withAwaited(err error) error {
	silence, ok := err.(*wire.TimeoutError)
	if !ok {
		return err
	}
	timeout := *silence
	switch {
	case c.outputSent.Load():
		timeout.Awaited = "reply"
	case !c.inputSeen.Load():
		timeout.Awaited = "greeting"
	}
	return &timeout
}

// EndsUnannounced declares that servers of this protocol close TLS connections without
// close_notify. A missing close_notify is then not an error, and a body that ends with the
// connection remains FramedByClose. EndsUnannounced must be called before the response is returned.
func (c *Conn) EndsUnannounced() { c.unannounced = true }

// CutOff returns an error of class ErrTruncated if the connection uses TLS and was closed without
// the required close_notify (RFC 8446, section 6.1). Any attacker on the path can cause that, so
// data may be missing. Read still returns io.EOF, because the protocol may mark the end itself.
func (c *Conn) CutOff() error {
	if c.raw == nil || !c.eofSeen.Load() || !c.raw.eofSeen.Load() {
		return nil // crypto/tls reads nothing after close_notify
	}
	return &Error{Code: ErrTruncated, Retry: true,
		Err: errors.New("the connection was closed without the TLS close_notify, so data may be missing")}
}

// Write implements net.Conn. It continues as long as the peer accepts some bytes within the idle
// timeout.
func (c *Conn) Write(p []byte) (int, error) {
	c.sentSecret.Store(false)
	return c.write(p, p)
}

// WriteMasked is like Write for bytes that contain a secret. The recording gets shown instead, or
// nothing if shown is empty. A secret that the peer repeats is masked too.
func (c *Conn) WriteMasked(p, shown []byte) (int, error) {
	if len(shown) > 0 {
		c.remember(p, shown)
		c.sentSecret.Store(true)
	}
	return c.write(p, shown)
}

func (c *Conn) write(p, shown []byte) (int, error) {
	if len(shown) > 0 {
		c.rec.Load().sent(shown)
	}
	written := 0
	for {
		if err := c.armWrite(); err != nil {
			return written, err
		}
		n, err := c.conn.Write(p[written:])
		written += n
		if n > 0 {
			c.outputSent.Store(true)
		}
		err = c.explain("write", &c.wr, err)
		if n > 0 {
			c.armRead() // the pending read now waits for the reply to p
		}
		if err == nil {
			return written, nil
		}
		if _, ok := errors.AsType[*wire.TimeoutError](err); ok {
			if n > 0 {
				continue
			}
			c.mu.Lock()
			c.writeError = fmt.Errorf("%w: %w", errClosedForWriting, err)
			c.mu.Unlock()
		}
		return written, err
	}
}

// Line returns a function to be called with the lines of the conversation, or nil if they are not
// recorded. Secrets in the lines that were sent must be masked.
func (c *Conn) Line() func(sent bool, line string) {
	s := c.rec.Load()
	if s == nil || s.Line == nil {
		return nil
	}
	return func(sent bool, line string) {
		if !sent {
			line = c.maskLine(line)
		}
		s.Line(sent, line)
	}
}

// Record adds the connection to the recording of the exchange of ctx, until end is called or
// another exchange uses the connection. It returns the number of the connection in that recording,
// or 0 if there is none. [Conn.Bind] calls Record.
func (c *Conn) Record(ctx context.Context, taps Taps) (number int, end func()) {
	c.Serve(ctx)
	c.rec.Store(nil)
	s := c.record(provenanceOf(ctx).recording, taps)
	if s == nil {
		return 0, func() {}
	}
	return s.conn, func() { c.rec.CompareAndSwap(s, nil) }
}

// Handshake performs a TLS handshake as a client, within the connect timeout. Later reads and
// writes are encrypted. See [Env.TLSConfig]. Errors are of class ErrTLS, or ErrNetwork if the
// network failed. If Handshake fails, it closes the connection.
func (c *Conn) Handshake(ctx context.Context, cfg *tls.Config) error {
	t := c.upgrade(func(raw net.Conn) *tls.Conn { return tls.Client(raw, cfg) })
	if err := c.handshake(ctx, t); err != nil {
		c.Abort()
		return err
	}
	c.rec.Load().peer(c.RemoteAddr(), c.TLS())
	return nil
}

func (c *Conn) handshake(ctx context.Context, t *tls.Conn) error {
	if c.connect > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.connect, &Error{Code: ErrNetwork, Retry: true,
			Err: fmt.Errorf("the TLS handshake did not end within %v", c.connect)})
		defer cancel()
	}
	err := t.HandshakeContext(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	switch code, retry := Classify(err); {
	case errors.Is(err, os.ErrDeadlineExceeded): // the peer stopped sending, which is not a TLS failure
		return &Error{Code: ErrNetwork, Retry: retry, Err: fmt.Errorf("in the TLS handshake: %w", err)}
	case code == ErrNetwork:
		return &Error{Code: ErrTLS, Retry: retry,
			Err: fmt.Errorf("the connection was closed during the handshake: %w", err)}
	}
	return &Error{Code: ErrTLS, Err: err}
}

func (c *Conn) upgrade(wrap func(net.Conn) *tls.Conn) *tls.Conn {
	raw := newConn(c.conn, c.idle)
	raw.replying, raw.above = c.replying, c
	t := wrap(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.raw, c.idle = t, raw, 0
	c.secured.Store(nil) // the state of the connection below
	c.rd, c.wr = deadline{user: c.rd.user}, deadline{user: c.wr.user}
	if c.cause != nil {
		t.SetDeadline(aLongTimeAgo)
	}
	return t
}

// Secured records that other code, which speaks QUIC over the socket of c, has authenticated the
// peer by TLS. The recording gets the state.
func (c *Conn) Secured(state tls.ConnectionState) {
	c.secured.Store(&state)
	c.rec.Load().peer(c.RemoteAddr(), &state)
}

// TLS returns the state of the TLS connection, or nil before [Conn.Handshake] and [Conn.Secured].
// The caller must not modify it.
func (c *Conn) TLS() *tls.ConnectionState {
	if state := c.secured.Load(); state != nil {
		return state
	}
	t, ok := c.conn.(*tls.Conn)
	if !ok {
		return nil
	}
	state := t.ConnectionState()
	if state.HandshakeComplete { // does not change later, and each exchange needs it
		c.secured.Store(&state)
	}
	return &state
}

// Close closes the connection without waiting for the peer.
func (c *Conn) Close() error {
	c.mu.Lock()
	broken := c.cause != nil || c.writeError != nil
	c.mu.Unlock()
	c.release()
	if t, ok := c.conn.(interface{ NetConn() net.Conn }); ok && broken {
		return t.NetConn().Close() // tls.Conn.Close would first try to send an alert
	}
	return c.conn.Close()
}

func (c *Conn) release() {
	c.mu.Lock()
	unbind := c.unbind
	c.mu.Unlock()
	if unbind != nil {
		unbind()
	}
}

// Abort closes the connection without sending the closing alert of TLS.
func (c *Conn) Abort() error {
	c.release()
	if t, ok := c.conn.(*tls.Conn); ok {
		return t.NetConn().Close()
	}
	return c.conn.Close()
}

// CloseWrite closes the writing side of the connection. If the connection does not support that,
// the error matches errors.ErrUnsupported.
func (c *Conn) CloseWrite() error {
	if cw, ok := c.conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return fmt.Errorf("half-close of %T: %w", c.conn, errors.ErrUnsupported)
}

// NetConn returns the connection that c wraps: a *tls.Conn after Handshake. Its reads and writes
// bypass timeouts and recording.
func (c *Conn) NetConn() net.Conn { return c.conn }

// ConnOf returns conn if it is a *Conn, or the *Conn whose NetConn it is, or nil. It is for drivers
// that pass connections through other code.
func ConnOf(conn net.Conn) *Conn {
	switch c := conn.(type) {
	case *Conn:
		return c
	case *tls.Conn:
		if raw, ok := c.NetConn().(*Conn); ok {
			return raw.above
		}
	}
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.setUser(&c.rd, t, c.conn.SetReadDeadline)
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.setUser(&c.wr, t, c.conn.SetWriteDeadline)
}

func (c *Conn) setUser(d *deadline, t time.Time, set func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	d.user = t
	if c.cause != nil {
		return nil // the connection remains unusable
	}
	return c.apply(d, set)
}
