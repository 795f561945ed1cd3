package fetch

import (
	"io"

	"github.com/urlget/urlget/internal/wire"
)

// Lines is a conversation in lines over a connection, for drivers of text protocols: commands are
// sent, replies received, and the data that follows them read. It enforces what the safety of such
// protocols depends on: a line sent never contains CR, LF or NUL, and every line and reply received
// is bounded. Lines sent and received are part of the recording of the exchange.
//
// After an error on the connection, every method returns that error. Lines is not safe for
// concurrent use. See [Env.Ask] for protocols that use a connection per request.
type Lines struct{ lines *wire.Lines }

// NewLines begins a conversation on conn. Lines of the server may be at most maxLine bytes long,
// not counting the line ending; 0 means 8 KiB. Lines buffers its input, so conn must not be read
// directly from then on.
func NewLines(conn *Conn, maxLine int) *Lines { return &Lines{wire.NewLines(conn, maxLine)} }

// Send sends a line followed by CRLF. A line that contains CR, LF or NUL is not sent, and the
// conversation can continue; the error is of class ErrURL, since such bytes come from URLs.
func (l *Lines) Send(line string) error { return l.lines.Send(line) }

// SendSecret is like Send for a line with a secret: recordings get shown instead.
func (l *Lines) SendSecret(line, shown string) error { return l.lines.SendSecret(line, shown) }

// Line reads a line and returns it without its CRLF or LF. The error is io.EOF if the server closed
// the connection between two lines.
func (l *Lines) Line() (string, error) { return l.lines.Line() }

// Reply reads a numeric reply as in FTP and SMTP: a line "ddd text", or several lines from
// "ddd-text" to "ddd text" (RFC 959, section 4.2), at most 1000 lines and 64 KiB. The lines of its
// text are separated by LF. If the connection ends instead, the error is io.ErrUnexpectedEOF, so
// that a Body cannot mistake it for its own end.
func (l *Lines) Reply() (Reply, error) {
	r, err := l.lines.Reply()
	switch {
	case err == io.EOF:
		return Reply{}, io.ErrUnexpectedEOF
	case err != nil:
		return Reply{}, err
	}
	return Reply{Code: r.Code, Text: r.Text()}, nil
}

// Read implements io.Reader. It reads the data after the lines read so far; it is up to the driver
// to know where that data ends.
func (l *Lines) Read(p []byte) (int, error) {
	if err := l.lines.Err(); err != nil {
		return 0, err
	}
	n, err := l.lines.Reader().Read(p)
	return n, l.broken(err)
}

// WriteTo implements io.WriterTo, for content that ends with the connection. It lets the kernel
// move the bytes where possible.
func (l *Lines) WriteTo(w io.Writer) (int64, error) {
	if err := l.lines.Err(); err != nil {
		return 0, err
	}
	n, err := l.lines.Reader().WriteTo(w)
	return n, l.broken(err)
}

func (l *Lines) broken(err error) error {
	if err == nil {
		return nil
	}
	return l.lines.Break(err)
}

// Buffered returns the number of bytes that have arrived but have not been read. A connection with
// any must not be reused: they would be mistaken for the answer to the next request.
func (l *Lines) Buffered() int { return l.lines.Reader().Buffered() }
