package nntp

import (
	"bufio"
	"io"
)

// unixLines turns CR LF into LF.
type unixLines struct {
	io.Closer
	br *bufio.Reader
}

// Read implements io.Reader.
func (u *unixLines) Read(p []byte) (int, error) {
	for n := 0; ; {
		if n == len(p) || n > 0 && u.br.Buffered() == 0 {
			return n, nil
		}
		c, err := u.br.ReadByte()
		if err != nil {
			return n, err
		}
		if c == '\r' {
			if next, _ := u.br.Peek(1); len(next) == 1 && next[0] == '\n' {
				continue
			}
		}
		p[n] = c
		n++
	}
}
