package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// Lines is a conversation in lines: it sends commands, and reads replies and the data after them.
// Lines sent never contain CR, LF or NUL, and the size of received lines and replies is limited.
// Lines in both directions are part of the recording of the exchange.
//
// After an error on the connection the conversation is broken, and every method returns that error.
// Lines is not safe for concurrent use. For protocols that use one connection per request, see
// driver.Ask.
type Lines struct {
	// DoubleIAC sends every byte 255 twice, as Telnet requires (RFC 959, section 2.3; RFC 854).
	DoubleIAC bool
	// NoContent declares that the connection carries only commands and replies. Secrets that were sent
	// are then masked in recordings of all replies; otherwise only in the reply to the secret, because
	// later bytes may be content.
	NoContent bool
	// Limits limits the size of each reply.
	Limits ReplyLimits

	conn   net.Conn
	r      *Reader
	out    []byte   // queued lines
	masked []byte   // the same lines with secrets masked; nil if there are none
	shown  []string // the same lines for the trace
	err    error    // why the conversation is broken
}

type recorder interface {
	// Line returns a function to be called with each line sent or received, without its line
	// ending, or nil if lines are not recorded. Lines are untrusted and may contain control
	// characters.
	Line() func(sent bool, line string)
	// WriteMasked is like Write, but records shown instead of p.
	WriteMasked(p, shown []byte) (int, error)
}

func (l *Lines) trace() func(sent bool, line string) {
	if r, ok := l.conn.(recorder); ok {
		return r.Line()
	}
	return nil
}

// NewLines starts a conversation on conn, usually a *driver.Conn. MaxLine is as for NewReader.
// Lines buffers its input, so conn must not be read directly afterwards.
func NewLines(conn net.Conn, maxLine int) *Lines {
	return &Lines{conn: conn, r: NewReader(conn, maxLine)}
}

// Reader returns the underlying reader, for data other than replies. If a read from it fails or is
// abandoned, the caller must call Break. Read and WriteTo of Lines do so.
func (l *Lines) Reader() *Reader { return l.r }

// Read implements io.Reader. It reads the data after the last line read. The driver must determine
// the end of that data.
func (l *Lines) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.r.Read(p)
	if err != nil {
		err = l.Break(err)
	}
	return n, err
}

// WriteTo implements io.WriterTo, for content that ends with the connection. It may let the kernel
// move the bytes.
func (l *Lines) WriteTo(w io.Writer) (int64, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.r.WriteTo(w)
	if err != nil {
		err = l.Break(err)
	}
	return n, err
}

// Buffered returns the number of bytes that have arrived but have not been read. A connection with
// buffered bytes must not be reused, because they would be mistaken for the reply to the next
// request.
func (l *Lines) Buffered() int { return l.r.Buffered() }

// Err returns the error that broke the conversation, or nil if it can continue.
func (l *Lines) Err() error { return l.err }

// Break marks the conversation as broken by err, unless it is already broken. It returns the error
// that broke it.
func (l *Lines) Break(err error) error {
	if l.err == nil {
		l.err = err
	}
	return l.err
}

// Send sends a line, after any queued lines, in a single Write. If CheckLine rejects the line, it
// is not sent and the conversation is not broken.
func (l *Lines) Send(line string) error { return l.SendSecret(line, line) }

// SendSecret is like Send for a line that must not appear in traces, which get shown instead.
func (l *Lines) SendSecret(line, shown string) error {
	if err := l.queue(line, shown); err != nil {
		return err
	}
	return l.Flush()
}

// Queue adds a line that the next Flush or Send will send, so that several commands are sent
// together.
func (l *Lines) Queue(line string) error { return l.queue(line, line) }

func (l *Lines) queue(line, shown string) error {
	if l.err != nil {
		return l.err
	}
	if err := CheckLine(line); err != nil {
		return err
	}
	if shown != line && l.masked == nil {
		l.masked = append([]byte{}, l.out...)
	}
	l.out = l.appendLine(l.out, line)
	if l.masked != nil {
		l.masked = l.appendLine(l.masked, shown)
	}
	l.shown = append(l.shown, shown)
	return nil
}

func (l *Lines) appendLine(b []byte, line string) []byte {
	if l.DoubleIAC {
		b = append(b, bytes.ReplaceAll([]byte(line), []byte{255}, []byte{255, 255})...)
	} else {
		b = append(b, line...)
	}
	return append(b, "\r\n"...)
}

// Flush sends the queued lines in a single Write.
func (l *Lines) Flush() error {
	if l.err != nil {
		return l.err
	}
	if len(l.out) == 0 {
		return nil
	}
	if trace := l.trace(); trace != nil {
		for _, line := range l.shown {
			trace(true, line)
		}
	}
	err := l.write()
	l.out, l.masked, l.shown = l.out[:0], nil, l.shown[:0]
	if err != nil {
		return l.Break(err)
	}
	QuickAck(l.conn)
	return nil
}

// Send sends lines, followed by data verbatim, in a single Write, for exchanges that need no Lines.
// Traces and recordings get shown instead of data.
func Send(conn net.Conn, lines []string, data, shown string) error {
	l := &Lines{conn: conn}
	for _, line := range lines {
		if err := l.Queue(line); err != nil {
			return err
		}
	}
	if data != "" {
		l.masked = append(bytes.Clone(l.out), shown...)
		l.out = append(l.out, data...)
		l.shown = append(l.shown, strings.Split(strings.TrimSuffix(shown, "\r\n"), "\r\n")...)
	}
	return l.Flush()
}

func (l *Lines) write() error {
	if r, ok := l.conn.(recorder); ok && (l.masked != nil || l.NoContent) {
		shown := l.masked
		if shown == nil {
			shown = l.out
		}
		_, err := r.WriteMasked(l.out, shown)
		return err
	}
	_, err := l.conn.Write(l.out)
	return err
}

// Reply reads one reply within Limits. Any error breaks the conversation. If the connection ends
// instead, the error is io.ErrUnexpectedEOF, so that a Body cannot mistake it for its own end.
func (l *Lines) Reply() (Reply, error) {
	if l.err != nil {
		return Reply{}, l.err
	}
	reply, err := l.r.Reply(l.Limits)
	if err != nil {
		return Reply{}, l.Break(unexpected(err))
	}
	if trace := l.trace(); trace != nil {
		for i, text := range reply.Lines {
			sep := " "
			if i < len(reply.Lines)-1 {
				sep = "-"
			}
			trace(false, fmt.Sprintf("%03d%s%s", reply.Code, sep, text))
		}
	}
	return reply, nil
}

// Line reads one line as a string, for protocols without numeric replies.
func (l *Lines) Line() (string, error) {
	if l.err != nil {
		return "", l.err
	}
	line, err := l.r.Line()
	if err != nil {
		return string(line), l.Break(err)
	}
	if trace := l.trace(); trace != nil {
		trace(false, string(line))
	}
	return string(line), nil
}

// Cmd sends a line and reads the reply.
func (l *Lines) Cmd(line string) (Reply, error) {
	if err := l.Send(line); err != nil {
		return Reply{}, err
	}
	return l.Reply()
}

// ErrEarly is returned if a server sends plaintext after agreeing to TLS.
var ErrEarly = errors.New("the server sent data before TLS began")

// Upgrade calls handshake to secure the connection, typically as a TLS client, after the server has
// agreed to it. It returns the error of handshake. It fails if there is unread plaintext, because
// an attacker may have injected a reply (RFC 3207, section 5).
func (l *Lines) Upgrade(handshake func() error) error {
	if l.err != nil {
		return l.err
	}
	if l.r.Buffered() > 0 {
		return l.Break(ErrEarly)
	}
	if err := handshake(); err != nil {
		return l.Break(err)
	}
	return nil
}

// Close closes the connection without waiting for the peer, and breaks the conversation.
func (l *Lines) Close() error {
	l.Break(net.ErrClosed)
	return l.conn.Close()
}
