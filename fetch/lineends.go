package fetch

import (
	"bufio"
	"io"
)

// LineEnds selects the line endings of text.
type LineEnds string

// The values of LineEnds.
const (
	LineEndsAsIs LineEnds = ""     // as the server sends them
	LineEndsLF   LineEnds = "lf"   // LF, as on Unix
	LineEndsCRLF LineEnds = "crlf" // CR LF, as on the network and on Windows
)

func (l LineEnds) converts(resp *Response) bool {
	return l != LineEndsAsIs && resp.Text && resp.Kind == KindObject
}

// check returns an error if the lines of a range would be converted: its offsets count the bytes of
// the server, which the caller does not see.
func (l LineEnds) check(resp *Response) error {
	if l.converts(resp) && !resp.Range.IsZero() {
		return ErrRange.Errorf("ranges are not available while line endings are converted")
	}
	return nil
}

func (l LineEnds) apply(resp *Response) {
	if !l.converts(resp) {
		return
	}
	resp.Size = -1
	if resp.Body != NoBody {
		resp.Body = &lineEndsBody{Closer: resp.Body, r: bufio.NewReaderSize(resp.Body, 32<<10),
			crlf: l == LineEndsCRLF}
	}
}

// A lineEndsBody converts the line endings of a body. A CR without an LF is not changed.
type lineEndsBody struct {
	io.Closer
	r    *bufio.Reader
	crlf bool
	due  bool // the next byte is the LF of a line ending whose CR the caller has read
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
			// If Peek fails, the next read returns the error.
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
