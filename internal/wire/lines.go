package wire

import (
	"bytes"
	"errors"
	"fmt"
	"net"
)

// Lines is a conversation in lines: commands go out, replies come in. Once something went wrong on
// the connection, it is broken and every method fails with the first error. It is not safe for
// concurrent use.
type Lines struct {
	// Trace, if not nil, is told of each line sent and received, without its end. A line is data:
	// it may hold control characters.
	Trace func(sent bool, line string)
	// DoubleIAC sends each octet 255 twice, as TELNET wants it (RFC 959, section 2.3; RFC 854).
	DoubleIAC bool
	// Limits bound each reply.
	Limits ReplyLimits

	conn  net.Conn
	r     *Reader
	out   []byte   // queued lines
	shown []string // the same for the trace
	err   error    // why the conversation is broken
}

// NewLines begins a conversation on conn, usually a *Conn. MaxLine is as for NewReader.
func NewLines(conn net.Conn, maxLine int) *Lines {
	return &Lines{conn: conn, r: NewReader(conn, maxLine)}
}

// Reader returns the reader of the conversation, for what is not a reply. The caller must Break the
// conversation if such a reading fails or stops half-way.
func (l *Lines) Reader() *Reader { return l.r }

// Conn returns the connection of the conversation.
func (l *Lines) Conn() net.Conn { return l.conn }

// Err returns why the conversation is broken, or nil if it can go on.
func (l *Lines) Err() error { return l.err }

// Break marks the conversation as broken by err, unless it is already, and returns the error that
// stands.
func (l *Lines) Break(err error) error {
	if l.err == nil {
		l.err = err
	}
	return l.err
}

// Send sends a line, and any lines queued before it, in one Write. A line that CheckLine refuses is
// not sent and does not break the conversation.
func (l *Lines) Send(line string) error { return l.SendSecret(line, line) }

// SendSecret is Send for a line that must not appear in traces, which see shown in its place.
func (l *Lines) SendSecret(line, shown string) error {
	if err := l.queue(line, shown); err != nil {
		return err
	}
	return l.Flush()
}

// Queue prepares a line for the next Flush or Send, so that several commands travel together.
func (l *Lines) Queue(line string) error { return l.queue(line, line) }

func (l *Lines) queue(line, shown string) error {
	if l.err != nil {
		return l.err
	}
	if err := CheckLine(line); err != nil {
		return err
	}
	if l.DoubleIAC {
		l.out = append(l.out, bytes.ReplaceAll([]byte(line), []byte{255}, []byte{255, 255})...)
	} else {
		l.out = append(l.out, line...)
	}
	l.out = append(l.out, "\r\n"...)
	l.shown = append(l.shown, shown)
	return nil
}

// Flush sends the queued lines in one Write.
func (l *Lines) Flush() error {
	if l.err != nil {
		return l.err
	}
	if len(l.out) == 0 {
		return nil
	}
	if l.Trace != nil {
		for _, line := range l.shown {
			l.Trace(true, line)
		}
	}
	_, err := l.conn.Write(l.out)
	l.out, l.shown = l.out[:0], l.shown[:0]
	if err != nil {
		return l.Break(err)
	}
	quickAck(l.conn)
	return nil
}

// Reply reads one reply within Limits. Every error breaks the conversation.
func (l *Lines) Reply() (Reply, error) {
	if l.err != nil {
		return Reply{}, l.err
	}
	reply, err := l.r.Reply(l.Limits)
	if err != nil {
		return Reply{}, l.Break(err)
	}
	if l.Trace != nil {
		for i, text := range reply.Lines {
			sep := " "
			if i < len(reply.Lines)-1 {
				sep = "-"
			}
			l.Trace(false, fmt.Sprintf("%03d%s%s", reply.Code, sep, text))
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
	if l.Trace != nil {
		l.Trace(false, string(line))
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

// errEarly is the error of a server that sent plain text where TLS was to begin.
var errEarly = errors.New("the server sent data before TLS began")

// Upgrade goes on over the connection that wrap makes of the present one, such as a TLS client,
// after the server agreed to it. It fails if data from before is still unread: someone on the way
// may have put it there to be taken for a protected reply (RFC 3207, section 5).
func (l *Lines) Upgrade(wrap func(net.Conn) net.Conn) error {
	if l.err != nil {
		return l.err
	}
	if l.r.Buffered() > 0 {
		return l.Break(errEarly)
	}
	l.conn = wrap(l.conn)
	l.r = NewReader(l.conn, l.r.maxLine)
	return nil
}

// Close closes the connection, without waiting for the peer, and breaks the conversation.
func (l *Lines) Close() error {
	l.Break(net.ErrClosed)
	return l.conn.Close()
}
