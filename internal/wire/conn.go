package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// A Conn is a net.Conn on which no read and no write waits longer than an idle time, and which can
// be bound to a context. The idle time starts anew with each call and whenever bytes move, so that
// it bounds the lack of progress and not the whole transfer. Deadlines set by SetDeadline and its
// kin hold as well.
//
// A write that failed half-way leaves the peer with a torn command: later writes fail at once.
type Conn struct {
	conn net.Conn

	mu         sync.Mutex
	idle       time.Duration
	rd, wr     deadline
	cause      error // why the connection is dead: the bound context ended
	writeError error // the failure of an earlier write
}

// A deadline is the earlier of what the user set and what the idle time allows.
type deadline struct {
	user, idle time.Time
	armed      time.Time // what the inner connection was told last
}

func (d *deadline) effective() time.Time {
	if d.user.IsZero() || !d.idle.IsZero() && d.idle.Before(d.user) {
		return d.idle
	}
	return d.user
}

// aLongTimeAgo is a deadline that has passed.
var aLongTimeAgo = time.Unix(1, 0)

var errClosedForWriting = errors.New("an earlier write failed")

// NewConn wraps c. An idle time of 0 means no limit.
func NewConn(c net.Conn, idle time.Duration) *Conn {
	return &Conn{conn: c, idle: idle}
}

// SetIdle changes the idle time, from the next Read or Write on. Zero means no limit.
func (c *Conn) SetIdle(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = d
}

// Bind ties the connection to ctx: once ctx is done, each blocked or later read and write fails
// with an error that matches context.Cause(ctx). The function it returns ends that and reports
// whether the connection is still usable; if ctx was done first, it is not, and stays so.
func (c *Conn) Bind(ctx context.Context) (release func() bool) {
	if ctx.Err() != nil {
		c.kill(context.Cause(ctx))
		return func() bool { return false }
	}
	stop := context.AfterFunc(ctx, func() { c.kill(context.Cause(ctx)) })
	return sync.OnceValue(stop)
}

// kill makes all reads and writes fail with cause. It holds the lock while it sets the deadline, so
// no arm that runs at the same time can replace it.
func (c *Conn) kill(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = fmt.Errorf("interrupted: %w", cause)
	}
	c.conn.SetDeadline(aLongTimeAgo)
}

// armRead and armWrite start the idle time anew.
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
	if c.idle > 0 {
		d.idle = time.Now().Add(c.idle)
	}
	return c.apply(d, set)
}

// apply tells the inner connection about a deadline that changed.
func (c *Conn) apply(d *deadline, set func(time.Time) error) error {
	t := d.effective()
	if t.Equal(d.armed) {
		return nil
	}
	d.armed = t
	return set(t)
}

// explain turns the timeout of the inner connection into the reason for it.
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
	case timeout && d.idlePassed():
		return &TimeoutError{Op: op, Idle: c.idle}
	}
	return err
}

// idlePassed reports whether a timeout that just happened is due to the idle time. Timers may be
// early by a hair.
func (d *deadline) idlePassed() bool {
	return !d.idle.IsZero() && d.effective().Equal(d.idle) && time.Until(d.idle) < time.Millisecond
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	if err := c.armRead(); err != nil {
		return 0, err
	}
	n, err := c.conn.Read(p)
	return n, c.explain("read", &c.rd, err)
}

// Write implements net.Conn. It goes on as long as the peer takes some bytes within the idle time.
func (c *Conn) Write(p []byte) (int, error) {
	written := 0
	for {
		if err := c.armWrite(); err != nil {
			return written, err
		}
		n, err := c.conn.Write(p[written:])
		written += n
		err = c.explain("write", &c.wr, err)
		if err == nil {
			return written, nil
		}
		var idle *TimeoutError
		if errors.As(err, &idle) {
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

// Close closes the connection. It does not wait for the peer.
func (c *Conn) Close() error {
	c.mu.Lock()
	broken := c.cause != nil || c.writeError != nil
	c.mu.Unlock()
	if t, ok := c.conn.(interface{ NetConn() net.Conn }); ok && broken {
		return t.NetConn().Close() // a TLS connection would try to say goodbye first
	}
	return c.conn.Close()
}

// CloseWrite tells the peer that nothing more will be sent, if the connection can say so. Otherwise
// its error matches errors.ErrUnsupported.
func (c *Conn) CloseWrite() error {
	if cw, ok := c.conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return fmt.Errorf("half-close of %T: %w", c.conn, errors.ErrUnsupported)
}

// NetConn returns the connection that c wraps.
func (c *Conn) NetConn() net.Conn { return c.conn }

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
		return nil // the connection stays dead
	}
	return c.apply(d, set)
}
