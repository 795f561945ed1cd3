package servers

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// errFault ends the handling of a connection after a fault.
var errFault = errors.New("servers: fault")

// maxLine limits a line from a client, in bytes.
const maxLine = 1 << 20

var errLine = errors.New("servers: line too long")

// A Conn is the server's side of a client's connection. It is not safe for concurrent use.
type Conn struct {
	s    *Server
	raw  net.Conn
	conn net.Conn // raw, or TLS over it
	r    *bufio.Reader
	w    *bufio.Writer

	command string // last command received
	failed  bool   // the failure of its reply was taken
	pace    Failure
	broken  error // set by a fault that ends the connection
}

func newConn(s *Server, raw net.Conn) *Conn {
	c := &Conn{s: s, raw: raw, command: Greeting}
	c.use(raw)
	if s.cfg.TLS != nil {
		c.use(tls.Server(raw, s.cfg.TLS))
	}
	return c
}

func (c *Conn) use(conn net.Conn) {
	c.conn, c.r, c.w = conn, bufio.NewReader(conn), bufio.NewWriterSize(conn, 16<<10)
}

// StartTLS flushes buffered output and performs a TLS handshake.
func (c *Conn) StartTLS(cfg *tls.Config) error {
	if err := c.Flush(); err != nil {
		return err
	}
	t := tls.Server(c.conn, cfg)
	c.use(t)
	return t.Handshake()
}

// ConnectionState returns the TLS state, or the zero value without TLS.
func (c *Conn) ConnectionState() tls.ConnectionState {
	if t, ok := c.conn.(*tls.Conn); ok {
		return t.ConnectionState()
	}
	return tls.ConnectionState{}
}

// NetConn returns the underlying connection without TLS.
func (c *Conn) NetConn() net.Conn { return c.raw }

// Open adds a connection of the same client, such as a data connection in FTP. If the server is
// closed, it closes raw and returns nil.
func (c *Conn) Open(raw net.Conn) *Conn {
	if !c.s.track(raw) {
		return nil
	}
	d := &Conn{s: c.s, raw: raw, command: c.command, pace: c.pace}
	d.use(raw)
	return d
}

// Track adds l to the connections and listeners that Server.Close closes. The returned function
// closes l.
func (c *Conn) Track(l io.Closer) (closeIt func()) {
	c.s.track(l)
	return func() { c.s.forget(l) }
}

// Close flushes buffered output and closes the connection.
func (c *Conn) Close() error {
	c.Flush()
	if t, ok := c.conn.(*tls.Conn); ok {
		t.CloseWrite() // sends close_notify
	}
	c.Cut()
	return nil
}

// Cut flushes buffered output and closes the connection. Over TLS, it sends no close_notify.
func (c *Conn) Cut() {
	c.Flush()
	c.closeRaw()
	c.s.forget(c.raw)
}

// CloseWrite flushes buffered output and closes the sending side.
func (c *Conn) CloseWrite() {
	c.Flush()
	c.closeWrite(true)
}

// Buffered returns the number of bytes that were received and not read yet.
func (c *Conn) Buffered() int { return c.r.Buffered() }

// Discard skips n bytes from the client.
func (c *Conn) Discard(n int) { c.r.Discard(n) }

// Read flushes buffered output if necessary, and reads bytes from the client.
func (c *Conn) Read(p []byte) (int, error) {
	if c.broken != nil {
		return 0, c.broken
	}
	if c.r.Buffered() == 0 {
		if err := c.Flush(); err != nil {
			return 0, err
		}
	}
	return c.r.Read(p)
}

// ReadLine reads a command and adds it to the log. It returns the line without its end.
func (c *Conn) ReadLine() (string, error) {
	line, err := c.ReadText()
	if err == nil {
		c.Note(line)
	}
	return line, err
}

// Each reads commands and calls handle for each, until handle returns false.
func (c *Conn) Each(handle func(line string) bool) {
	for {
		line, err := c.ReadLine()
		if err != nil || !handle(line) {
			return
		}
	}
}

// ReadText reads a line that is not a command, such as one of a form. It returns the line without
// its end.
func (c *Conn) ReadText() (string, error) {
	if c.broken != nil {
		return "", c.broken
	}
	// Replies to pipelined commands are sent together.
	if ready, _ := c.r.Peek(c.r.Buffered()); bytes.IndexByte(ready, '\n') < 0 {
		if err := c.Flush(); err != nil {
			return "", err
		}
	}
	var line []byte
	for {
		part, err := c.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return string(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))), nil
		case err != bufio.ErrBufferFull:
			return "", err
		case len(line) > maxLine:
			return "", errLine
		}
	}
}

// Note adds a command to the log. Output that follows is the reply to it.
func (c *Conn) Note(command string) {
	c.s.note(command)
	c.Begin(command)
}

// Begin is Note without an entry in the log.
func (c *Conn) Begin(command string) {
	c.command, c.failed, c.pace = command, false, Failure{}
}

// Wait reads and discards input until the client closes the connection.
func (c *Conn) Wait() {
	c.Flush()
	io.Copy(io.Discard, c.r)
}

// Write writes bytes to which no failure applies.
func (c *Conn) Write(p []byte) (int, error) {
	if c.pace.Fault == None {
		return c.w.Write(p)
	}
	for i := range p {
		if c.pace.Fault == Drip && !c.pause(c.pace.Every, defaultDrip) {
			return i, errFault
		}
		if _, err := c.w.Write(p[i : i+1]); err != nil {
			return i, err
		}
		if err := c.w.Flush(); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// Flush sends buffered output.
func (c *Conn) Flush() error { return c.w.Flush() }

// Printf writes one line of a reply and adds CR LF. No failure applies to it.
func (c *Conn) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(c, format+"\r\n", args...)
	return err
}

// Reply writes a complete reply without content and adds CR LF. A failure armed for the command
// applies to it. After an error the connection is unusable; the next ReadLine returns the error
// too.
func (c *Conn) Reply(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	f := Failure{}
	if !c.failed {
		f = c.s.take(c.command, false)
	}
	if f.Fault == None {
		return c.Printf("%s", text)
	}
	c.failed = true
	last := strings.LastIndexByte(text, '\n') + 1
	content, rest := text[:last], text[last:]+"\r\n"
	if last == 0 {
		content, rest = text, "\r\n"
	}
	b, ok := c.ContentWith(f, int64(len(content)))
	if !ok {
		return nil
	}
	if _, err := io.WriteString(b, content); err != nil {
		return err
	}
	if _, err := b.End(); err != nil {
		return err
	}
	_, err := io.WriteString(c, rest)
	return err
}

// pause waits for d, or for least if d is zero. It returns false if the server is closed.
func (c *Conn) pause(d, least time.Duration) bool {
	if d == 0 {
		d = least
	}
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.s.done:
		return false
	}
}
