package fetch

import (
	"bufio"
	"errors"
	"io"

	"github.com/urlget/urlget/fetch/driver"
)

// LineEnds says how the lines of text end. Its value is a token.
type LineEnds string

// The ways in which lines end.
const (
	LineEndsAsIs LineEnds = ""     // as the server sends them
	LineEndsLF   LineEnds = "lf"   // LF, as on Unix
	LineEndsCRLF LineEnds = "crlf" // CR LF, as on the network and on Windows
)

// converts reports whether the lines of resp are to end otherwise than they come.
func (l LineEnds) converts(resp *driver.Response) bool {
	return l != LineEndsAsIs && resp.Text && resp.Kind == KindObject
}

// check refuses a part of text whose lines are to end otherwise: it counts bytes that the caller
// does not see. Who asked for it must be content with the whole.
func (l LineEnds) check(resp *driver.Response) error {
	if l.converts(resp) && !resp.Range.IsZero() {
		return &Error{Code: ErrRange, Err: errors.New("text whose line ends are converted has no parts")}
	}
	return nil
}

// apply makes the lines of resp end as l says.
func (l LineEnds) apply(resp *driver.Response) {
	if !l.converts(resp) {
		return
	}
	resp.Size = -1
	if resp.Body != driver.NoBody {
		resp.Body = &lineEndsBody{Closer: resp.Body, r: bufio.NewReaderSize(resp.Body, 32<<10), crlf: l == LineEndsCRLF}
	}
}

// A lineEndsBody is text whose lines end in one way. A CR that no LF follows stays.
type lineEndsBody struct {
	io.Closer
	r    *bufio.Reader
	crlf bool
	due  bool // the LF of a line end, whose CR has been read by the caller
}

// Read implements io.Reader.
func (b *lineEndsBody) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && (n == 0 || b.r.Buffered() > 0 || b.due) {
		if b.due {
			p[n], b.due = '\n', false
			n++
			continue
		}
		c, err := b.r.ReadByte()
		if err != nil {
			return n, err
		}
		if c == '\r' {
			// The error of a failed Peek comes again with the next read.
			if next, _ := b.r.Peek(1); len(next) == 1 && next[0] == '\n' {
				b.r.Discard(1)
				c = '\n'
			}
		}
		if c == '\n' && b.crlf {
			c, b.due = '\r', true
		}
		p[n] = c
		n++
	}
	return n, nil
}
