package fetch

import (
	"errors"
	"net"
	"os"
	"time"
)

// peekTime is the time that Unread waits for input if the socket cannot be polled.
const peekTime = time.Millisecond

// Unread reports whether there is input, or the end of the stream. An idle connection must have
// none, because it would be mistaken for the reply to the next request. Unread does not wait for
// the peer. If it returns true, the connection must not be used any more, because part of the input
// may be lost. Unread must not be called concurrently with reads.
//
// Unread does not consider input that the driver has buffered itself.
func (c *Conn) Unread() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return true
	}
	waits, known := c.peek()
	if waits || known && c.raw == nil {
		return waits
	}
	until := time.Now().Add(peekTime)
	if known {
		until = aLongTimeAgo // TLS may have buffered input
	}
	waits = hasInput(c.conn, until)
	c.rd.armed = until
	return c.apply(&c.rd, c.conn.SetReadDeadline) != nil || waits
}

// Ask calls send, which writes a request to an idle connection, and waits until the reply begins. If there
// is input before, or the end of the stream, as for Unread, Ask does not call send: sent is false, and the
// connection must not be used any more. Compared with Unread, a write and a read, it saves a system call, and
// the caller needs no buffer while it waits. Where the socket cannot be polled, it does not wait.
func (c *Conn) Ask(send func() error) (sent bool, err error) {
	known := false
	if c.raw == nil {
		if err := c.armRead(); err != nil {
			return false, err
		}
		sent, known, err = c.socket.ask(c.conn, send)
	}
	if !known {
		if c.inputSeen.Load() && c.Unread() { // or else it is new
			return false, nil
		}
		return true, send()
	}
	return sent, c.withAwaited(c.explain("read", &c.rd, err))
}

// HasInput reports whether the socket of an idle connection has input, or the end of the stream. It
// does not wait, and returns false if that cannot be determined. Unlike Unread, it leaves the
// connection usable.
func (c *Conn) HasInput() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	waits, _ := c.peek()
	return waits
}

// peek looks at the socket below all layers of c.
func (c *Conn) peek() (waits, known bool) {
	if c.raw != nil {
		return c.raw.socket.peek(c.raw.conn)
	}
	return c.socket.peek(c.conn)
}

func hasInput(c net.Conn, until time.Time) bool {
	if c.SetReadDeadline(until) != nil {
		return true
	}
	_, err := c.Read(make([]byte, 1))
	return !errors.Is(err, os.ErrDeadlineExceeded)
}
