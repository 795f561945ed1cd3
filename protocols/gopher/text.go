package gopher

import (
	"bytes"
	"io"
	"slices"

	"github.com/urlget/urlget/fetch/driver/wire"
)

// A textReader reads a text or menu up to EOF, without a line with only a dot at the very end. Such
// a line elsewhere is content: many servers neither send the final one nor escape others, although
// RFC 1436, section 3.8, requires both.
type textReader struct {
	r       *wire.Reader
	midLine bool // not at the beginning of a line
}

var finalDots = []string{".", ".\r\n", ".\n"}

func (t *textReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	first, err := t.r.Peek(1)
	if err != nil {
		return 0, err
	}
	if !t.midLine && first[0] == '.' {
		final, err := t.atFinalDot()
		if err != nil {
			return 0, err
		}
		if final {
			return 0, io.EOF
		}
	}
	buf, _ := t.r.Peek(min(len(p), t.r.Buffered()))
	if i := bytes.Index(buf, []byte("\n.")); i >= 0 {
		buf = buf[:i+1]
	}
	t.midLine = buf[len(buf)-1] != '\n'
	return t.r.Read(p[:len(buf)])
}

// atFinalDot reports whether the rest of the stream is a line with only a dot.
func (t *textReader) atFinalDot() (bool, error) {
	for n := 1; n <= len(".\r\n")+1; n++ {
		rest, err := t.r.Peek(n)
		switch {
		case err == io.EOF:
			return slices.Contains(finalDots, string(rest)), nil
		case err != nil:
			return false, err
		case n == 2 && rest[1] != '\r' && rest[1] != '\n':
			return false, nil
		}
	}
	return false, nil
}
