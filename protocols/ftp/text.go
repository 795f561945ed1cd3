package ftp

import (
	"bufio"
	"io"
)

// A localText reads text with CRLF turned into LF. Other CRs stay.
type localText struct {
	r *bufio.Reader
	io.Closer
}

func newLocalText(body io.ReadCloser) *localText {
	return &localText{r: bufio.NewReaderSize(body, 64<<10), Closer: body}
}

func (l *localText) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && (n == 0 || l.r.Buffered() > 0) {
		c, err := l.r.ReadByte()
		if err != nil {
			return n, err
		}
		if c == '\r' {
			// The error of a failed Peek comes again with the next read.
			if next, _ := l.r.Peek(1); len(next) == 1 && next[0] == '\n' {
				continue
			}
		}
		p[n] = c
		n++
	}
	return n, nil
}
