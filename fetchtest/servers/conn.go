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

// errStruck ends what a server does on a connection on which a fault was the end.
var errStruck = errors.New("servers: fault")

// maxLine bounds the lines of clients, in bytes.
const maxLine = 1 << 20

var errLine = errors.New("servers: line too long")

// A Conn is a connection of a client, as the server sees it. It is for one goroutine.
type Conn struct {
	s    *Server
	raw  net.Conn
	conn net.Conn // raw, or TLS on it
	r    *bufio.Reader
	w    *bufio.Writer

	command string // the last one received
	failed  bool   // the reply to it has got the failure that is armed
	pace    Failure
	broken  error // a fault has made an end of the connection
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
	c.conn, c.r, c.w = conn, bufio.NewReader(conn), bufio.NewWriterSize(conn, 64<<10)
}

// StartTLS begins TLS, once what was written in clear has been sent.
func (c *Conn) StartTLS(cfg *tls.Config) error {
	if err := c.Flush(); err != nil {
		return err
	}
	t := tls.Server(c.conn, cfg)
	c.use(t)
	return t.Handshake()
}

// ConnectionState returns the state of TLS; the zero value in clear.
func (c *Conn) ConnectionState() tls.ConnectionState {
	if t, ok := c.conn.(*tls.Conn); ok {
		return t.ConnectionState()
	}
	return tls.ConnectionState{}
}

// NetConn returns the connection below TLS.
func (c *Conn) NetConn() net.Conn { return c.raw }

// Open adds a connection that belongs to the same client, such as FTP's for data. It returns nil,
// and closes it, if the server is closed.
func (c *Conn) Open(raw net.Conn) *Conn {
	if !c.s.track(raw) {
		return nil
	}
	d := &Conn{s: c.s, raw: raw, command: c.command, pace: c.pace}
	d.use(raw)
	return d
}

// Track makes Server.Close close l, until the function that it returns does.
func (c *Conn) Track(l io.Closer) (closeIt func()) {
	c.s.track(l)
	return func() { c.s.forget(l) }
}

// Close sends what was written and closes the connection, if the client takes it.
func (c *Conn) Close() error {
	c.Flush()
	if t, ok := c.conn.(*tls.Conn); ok {
		t.CloseWrite() // its closing alert
	}
	c.closeRaw()
	c.s.forget(c.raw)
	return nil
}

// CloseWrite sends what was written, and ends what the server sends.
func (c *Conn) CloseWrite() {
	c.Flush()
	c.closeWrite(true)
}

// Buffered returns how many bytes of the client have arrived and are not read yet.
func (c *Conn) Buffered() int { return c.r.Buffered() }

// Discard throws away n bytes of the client.
func (c *Conn) Discard(n int) { c.r.Discard(n) }

// Read reads what the client sends, once what was written has been sent.
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

// ReadLine reads a command, puts it into the log, and returns it without its end.
func (c *Conn) ReadLine() (string, error) {
	line, err := c.ReadText()
	if err == nil {
		c.Note(line)
	}
	return line, err
}

// ReadText reads a line that is no command, such as one of a form, and returns it without its end.
func (c *Conn) ReadText() (string, error) {
	if c.broken != nil {
		return "", c.broken
	}
	// The replies to commands that came together leave together.
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

// Note puts a command into the log. What is written then is the reply to it.
func (c *Conn) Note(command string) {
	c.s.note(command)
	c.Begin(command)
}

// Begin is Note without the log.
func (c *Conn) Begin(command string) {
	c.command, c.failed, c.pace = command, false, Failure{}
}

// Wait reads until the client is gone.
func (c *Conn) Wait() {
	c.Flush()
	io.Copy(io.Discard, c.r)
}

// Write sends bytes that no failure is meant for.
func (c *Conn) Write(p []byte) (int, error) {
	if c.pace.Fault == None {
		return c.w.Write(p)
	}
	for i := range p {
		if c.pace.Fault == Drip && !c.pause(c.pace.Every, defaultDrip) {
			return i, errStruck
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

// Flush sends what was written.
func (c *Conn) Flush() error { return c.w.Flush() }

// Printf writes a line, and its end, that is a part of a reply. It is not what a failure is meant
// for.
func (c *Conn) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(c, format+"\r\n", args...)
	return err
}

// Reply writes a whole reply that has no content, and adds the end of its last line. It fails if a
// failure is armed for the command. An error means that the connection is of no more use, as the
// next ReadLine says too.
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

// pause waits for d, or for least if d is zero. It reports false if the server has been closed.
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
