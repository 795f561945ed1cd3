package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// Lines is a conversation in lines: commands are sent, replies received, and the data that follows
// them read. A line sent never contains CR, LF or NUL, and every line and reply received is bounded.
// Lines sent and received are part of the recording of the exchange.
//
// After an error on the connection the conversation is broken, and every method returns that first
// error. It is not safe for concurrent use. See driver.Ask for protocols that use a connection per
// request.
type Lines struct {
	// DoubleIAC sends every byte 255 twice, as Telnet requires (RFC 959, section 2.3; RFC 854).
	DoubleIAC bool
	// Limits bounds each reply.
	Limits ReplyLimits

	conn   net.Conn
	r      *Reader
	out    []byte   // queued lines
	masked []byte   // the same lines as they may be shown; nil if there is nothing to hide
	shown  []string // the same lines for the trace
	err    error    // why the conversation is broken
}

// A recorder is a connection whose conversation may be recorded.
type recorder interface {
	// Trace returns a function to be called with each line sent or received, without its line
	// ending, or nil if there is no trace. Lines are untrusted data and may hold control
	// characters.
	Trace() func(sent bool, line string)
	// WriteMasked is like Write, but records shown in place of p.
	WriteMasked(p, shown []byte) (int, error)
}

// trace returns the trace function of the connection, or nil if it has none.
func (l *Lines) trace() func(sent bool, line string) {
	if r, ok := l.conn.(recorder); ok {
		return r.Trace()
	}
	return nil
}

// NewLines begins a conversation on conn, usually a *driver.Conn. MaxLine is as for NewReader. Lines
// buffers its input, so conn must not be read directly from then on.
func NewLines(conn net.Conn, maxLine int) *Lines {
	return &Lines{conn: conn, r: NewReader(conn, maxLine)}
}

// Reader returns the underlying reader, for data other than replies. If reading from it fails or
// stops half-way, the caller must Break the conversation. Read and WriteTo do so.
func (l *Lines) Reader() *Reader { return l.r }

// Read implements io.Reader. It reads the data after the lines read so far; it is up to the driver
// to know where that data ends.
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

// WriteTo implements io.WriterTo, for content that ends with the connection. It lets the kernel
// move the bytes where possible.
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
// any must not be reused: they would be mistaken for the answer to the next request.
func (l *Lines) Buffered() int { return l.r.Buffered() }

// Conn returns the underlying connection.
func (l *Lines) Conn() net.Conn { return l.conn }

// Err returns the error that broke the conversation, or nil if it can continue.
func (l *Lines) Err() error { return l.err }

// Break marks the conversation as broken by err, unless it is broken already, and returns the error
// that broke it.
func (l *Lines) Break(err error) error {
	if l.err == nil {
		l.err = err
	}
	return l.err
}

// Send sends a line, after any queued lines, in a single Write. A line that CheckLine rejects is
// not sent and does not break the conversation.
func (l *Lines) Send(line string) error { return l.SendSecret(line, line) }

// SendSecret is like Send for a line that must not appear in traces, which get shown instead.
func (l *Lines) SendSecret(line, shown string) error {
	if err := l.queue(line, shown); err != nil {
		return err
	}
	return l.Flush()
}

// Queue adds a line to be sent by the next Flush or Send, so that several commands travel together.
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
// Shown is what traces and recordings get in place of data.
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
	if r, ok := l.conn.(recorder); ok && l.masked != nil {
		_, err := r.WriteMasked(l.out, l.masked)
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

// Cmd sends a line and reads the reply to it.
func (l *Lines) Cmd(line string) (Reply, error) {
	if err := l.Send(line); err != nil {
		return Reply{}, err
	}
	return l.Reply()
}

// ErrEarly is the error for a server that sends plaintext after agreeing to TLS.
var ErrEarly = errors.New("the server sent data before TLS began")

// Upgrade calls handshake to secure the connection, typically as a TLS client, once the server has
// agreed to it, and returns its error. It fails if there is unread plaintext: an attacker may have
// injected it to be mistaken for a protected reply (RFC 3207, section 5).
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
