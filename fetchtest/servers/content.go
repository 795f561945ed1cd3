package servers

import (
	"bytes"
	"io"
	"net"
)

// A Content writes the content of a reply. It applies the armed failure.
type Content struct {
	c        *Conn // control connection
	to       *Conn // connection for the content
	failure  Failure
	size     int64 // negative if unknown
	sent     int64
	occurred bool // the fault has occurred
	err      error
}

// Content starts the content of the reply to the last command. The size is in bytes, or -1 if
// unknown. Content returns false if it sent noise instead of the reply, which ends the reply.
func (c *Conn) Content(size int64) (*Content, bool) {
	return c.ContentOn(size, func() *Conn { return c })
}

// ContentOn is like Content, but writes to the connection that open returns. It does not call open
// for noise. If open returns nil, ContentOn returns false.
func (c *Conn) ContentOn(size int64, open func() *Conn) (*Content, bool) {
	return c.content(c.Take(), size, open)
}

// ContentWith is like Content, but uses a failure that was taken before.
func (c *Conn) ContentWith(f Failure, size int64) (*Content, bool) {
	return c.content(f, size, func() *Conn { return c })
}

// Take returns the armed failure for the content of the reply to the last command, and counts it.
// It returns the zero Failure if none applies.
func (c *Conn) Take() Failure {
	if c.failed {
		return Failure{}
	}
	c.failed = true
	return c.s.take(c.command, true)
}

// TakeFor is Take for a reply without content. The server must apply the failure itself.
func (c *Conn) TakeFor() Failure {
	if c.failed {
		return Failure{}
	}
	return c.s.take(c.command, false)
}

func (c *Conn) content(f Failure, size int64, open func() *Conn) (*Content, bool) {
	if f.Fault == Noise {
		c.Write(noise)
		return nil, false
	}
	if f.Fault == Split {
		c.pace = f
	}
	to := open()
	if to == nil {
		return nil, false
	}
	return &Content{c: c, to: to, failure: f, size: size}, true
}

// Send writes a complete content as the reply to the last command.
func (c *Conn) Send(content []byte) (Fault, error) {
	b, ok := c.Content(int64(len(content)))
	if !ok {
		return Noise, nil
	}
	if _, err := b.Write(content); err != nil {
		return None, err
	}
	return b.End()
}

// Fault returns the fault of this content, or None.
func (b *Content) Fault() Fault { return b.failure.Fault }

// Write writes the next bytes of the content. After an error the connection is unusable.
func (b *Content) Write(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.occurred && (b.failure.Fault == Short || b.failure.Fault == Abort) {
		return len(p), nil // omitted
	}
	if b.occurred || b.failure.Fault == None || b.failure.Fault == Split {
		return b.write(p)
	}
	if b.size < 0 {
		b.size = int64(len(p))
		if b.failure.After > 0 {
			b.size = b.failure.After
		}
	}
	n := b.failure.Place(b.size) - b.sent
	if n >= int64(len(p)) {
		b.sent += int64(len(p))
		return b.write(p)
	}
	if _, err := b.write(p[:n]); err != nil {
		return 0, err
	}
	if b.err = b.strike(p[n:], p); b.err != nil {
		return int(n), b.err
	}
	return len(p), nil
}

func (b *Content) write(p []byte) (int, error) {
	n, err := b.to.Write(p)
	b.err = err
	return n, err
}

// End ends the content. The fault occurs now if it has not occurred yet. End returns Short or Abort
// if the rest was omitted, and None otherwise. After an error the connection is unusable.
func (b *Content) End() (Fault, error) {
	if b.err == nil && !b.occurred && b.failure.Fault != None && b.failure.Fault != Split {
		b.err = b.strike(nil, []byte("x\r\n"))
	}
	if b.err == nil && (b.failure.Fault == Short || b.failure.Fault == Abort) {
		return b.failure.Fault, nil
	}
	return None, b.err
}

// strike applies the fault. The rest of the content would follow; all is repeated by Endless.
func (b *Content) strike(rest, all []byte) error {
	b.occurred = true
	err := b.fail(rest, all)
	b.c.broken = err
	return err
}

func (b *Content) fail(rest, all []byte) error {
	switch b.failure.Fault {
	case Short, Abort:
		return nil
	case Drip:
		b.to.pace = b.failure
		_, err := b.to.Write(rest)
		return err
	}
	if err := b.to.Flush(); err != nil {
		return err
	}
	switch b.failure.Fault {
	case Cut:
		b.to.closeRaw()
		b.c.closeRaw()
	case Reset:
		b.to.reset()
		b.c.reset()
	case HalfClose:
		b.to.closeWrite(b.to == b.c)
		b.c.Wait()
	case Stall:
		b.to.Wait()
	case Endless:
		return b.repeat(rest, all)
	}
	return errFault
}

// repeat writes rest once, and then all until the client closes the connection.
func (b *Content) repeat(rest, all []byte) error {
	if len(all) == 0 {
		all = []byte("x\r\n")
	}
	if b.failure.Every == 0 && len(all) < 32<<10 {
		all = bytes.Repeat(all, 32<<10/len(all)+1)
	}
	for {
		if _, err := b.to.Write(rest); err != nil {
			return err
		}
		if err := b.to.Flush(); err != nil {
			return err
		}
		if !b.to.pause(b.failure.Every, 0) {
			return errFault
		}
		rest = all
	}
}

// reset closes the connection with a TCP reset.
func (c *Conn) reset() {
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.raw.Close()
}

// closeRaw closes the connection. It sends FIN first, because closing with unread input sends a
// reset.
func (c *Conn) closeRaw() {
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		tcp.CloseWrite()
	}
	c.raw.Close()
}

// closeWrite closes the sending side of an only connection, and closes any other completely.
func (c *Conn) closeWrite(only bool) {
	if !only {
		c.conn.Close()
		return
	}
	if cw, ok := c.conn.(interface{ CloseWrite() error }); ok {
		cw.CloseWrite() // over TLS, this only sends close_notify
	}
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		tcp.CloseWrite()
	}
}

var _ io.Writer = (*Content)(nil)
