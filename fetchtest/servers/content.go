package servers

import (
	"bytes"
	"io"
	"net"
)

// A Content is the content of a reply on its way to the client. It suffers the failure that is
// armed.
type Content struct {
	c       *Conn // where the commands come from
	to      *Conn // where the content goes
	failure Failure
	size    int64 // less than 0: not known
	sent    int64
	begun   bool // the fault has struck
	err     error
}

// Content begins the content of the reply to the last command. Size is how many bytes it has, or -1
// if that is not known. It returns false if noise was sent in place of the reply, which is then
// over.
func (c *Conn) Content(size int64) (*Content, bool) {
	return c.ContentOn(size, func() *Conn { return c })
}

// ContentOn is Content on another connection, which open opens unless noise takes its place. If it
// returns nil, ContentOn returns false.
func (c *Conn) ContentOn(size int64, open func() *Conn) (*Content, bool) {
	return c.content(c.Take(), size, open)
}

// ContentWith is Content with a failure that was taken before.
func (c *Conn) ContentWith(f Failure, size int64) (*Content, bool) {
	return c.content(f, size, func() *Conn { return c })
}

// Take takes the failure that is armed for the content of the reply to the last command. It is the
// zero Failure if there is none.
func (c *Conn) Take() Failure {
	if c.failed {
		return Failure{}
	}
	c.failed = true
	return c.s.take(c.command, true)
}

// TakeFor takes the failure that is armed for the reply to the last command, which has no content.
// What it is to do is up to the server.
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

// Send writes a whole content as the reply to the last command: it is Content, Write and End.
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

// Fault returns the fault that strikes in this content, or None.
func (b *Content) Fault() Fault { return b.failure.Fault }

// Write writes the next bytes of the content. An error means that the connection is of no more use.
func (b *Content) Write(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.begun && (b.failure.Fault == Short || b.failure.Fault == Abort) {
		return len(p), nil // left out
	}
	if b.begun || b.failure.Fault == None || b.failure.Fault == Split {
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

// End ends the content. The fault strikes now if it has not yet. It returns Short or Abort if the
// rest was left out, else None; an error means that the connection is of no more use.
func (b *Content) End() (Fault, error) {
	if b.err == nil && !b.begun && b.failure.Fault != None && b.failure.Fault != Split {
		b.err = b.strike(nil, []byte("x\r\n"))
	}
	if b.err == nil && (b.failure.Fault == Short || b.failure.Fault == Abort) {
		return b.failure.Fault, nil
	}
	return None, b.err
}

// strike does what the fault does. Rest is what was to follow, all what can be repeated.
func (b *Content) strike(rest, all []byte) error {
	b.begun = true
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
	return errStruck
}

// repeat writes rest and then all, again and again.
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
			return errStruck
		}
		rest = all
	}
}

// reset closes the connection with a reset.
func (c *Conn) reset() {
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.raw.Close()
}

// closeRaw closes the connection in order. Were it closed while something of the client is unread,
// the client would see a reset.
func (c *Conn) closeRaw() {
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		tcp.CloseWrite()
	}
	c.raw.Close()
}

// closeWrite ends what the server sends; a connection that is not the only one is closed.
func (c *Conn) closeWrite(only bool) {
	if !only {
		c.conn.Close()
		return
	}
	if cw, ok := c.conn.(interface{ CloseWrite() error }); ok {
		cw.CloseWrite() // over TLS, its closing alert only
	}
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		tcp.CloseWrite()
	}
}

var _ io.Writer = (*Content)(nil)
