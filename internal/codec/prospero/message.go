// Package prospero reads and writes the text of Prospero's messages: lines of tokens, which may be
// quoted and then hold anything.
package prospero

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds of what is held of a message at once.
const (
	maxToken  = 64 << 10
	maxTokens = 4096
)

// ErrMalformed is the error for what is no message.
var ErrMalformed = errors.New("malformed Prospero message")

// A Scanner takes a message apart: lines of tokens between blanks. Single quotes quote anything, a
// doubled one inside stands for itself, and quoting may start and stop within a token, so that a
// token may hold line ends.
type Scanner struct {
	// NoQuote is set for version 1, which knows no quoting.
	NoQuote bool

	r      *bufio.Reader
	inLine bool // something of the line has been read
}

// NewScanner returns a scanner of the message that r holds.
func NewScanner(r io.Reader) *Scanner {
	return &Scanner{r: bufio.NewReaderSize(r, 32<<10)}
}

// Reader returns what is not yet scanned.
func (s *Scanner) Reader() io.Reader { return s.r }

// token reads the next token of the line; it is nil at the line's end. The error is io.EOF only in
// front of a line.
func (s *Scanner) token() ([]byte, error) {
	t, err := s.Token()
	if t == nil || err != nil {
		return nil, err
	}
	b := []byte{}
	for {
		c, err := t.next()
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == maxToken:
			return nil, fmt.Errorf("%w: token longer than %d bytes", ErrMalformed, maxToken)
		}
		b = append(b, c)
	}
}

// Token finds the next token of the line; nil if there is none. The token must be read to its end
// before the scanner is used again.
func (s *Scanner) Token() (*Token, error) {
	for {
		c, err := s.r.ReadByte()
		switch {
		case err == io.EOF && s.inLine:
			s.inLine = false
			return nil, nil // the last line needs no end
		case err != nil:
			return nil, err
		case c == ' ':
			s.inLine = true
		case c == '\n':
			s.inLine = false
			return nil, nil
		default:
			s.inLine = true
			s.r.UnreadByte()
			return &Token{s: s}, nil
		}
	}
}

// Rest reads the tokens of the line that are not yet read.
func (s *Scanner) Rest() (Line, error) {
	var l Line
	for {
		t, err := s.token()
		switch {
		case err != nil:
			return l, err
		case t == nil:
			return l, nil
		case len(l) == maxTokens:
			return nil, fmt.Errorf("%w: more than %d tokens in a line", ErrMalformed, maxTokens)
		}
		l = append(l, string(t))
	}
}

// Line reads the next line that is not empty. The error is io.EOF after the last.
func (s *Scanner) Line() (Line, error) {
	for {
		if l, err := s.Rest(); len(l) > 0 || err != nil {
			return l, err
		}
	}
}

// Word returns the word at the beginning of the line, at most max bytes of it, without reading it.
func (s *Scanner) Word(max int) (string, error) {
	for n := 1; ; n++ {
		ahead, err := s.r.Peek(n)
		if err != nil && len(ahead) == 0 {
			return "", err
		}
		switch {
		case len(ahead) < n, n > max:
			return string(ahead), nil
		case ahead[n-1] == ' ' || ahead[n-1] == '\n':
			return string(ahead[:n-1]), nil
		}
	}
}

// A Token is read byte by byte, as it may be a whole file.
type Token struct {
	s      *Scanner
	quoted bool
	err    error
}

// next returns the next byte, io.EOF at the token's end.
func (t *Token) next() (byte, error) {
	if t.err != nil {
		return 0, t.err
	}
	c, err := t.step()
	t.err = err
	return c, err
}

func (t *Token) step() (byte, error) {
	for {
		c, err := t.s.r.ReadByte()
		switch {
		case err == io.EOF && t.quoted:
			return 0, fmt.Errorf("%w: a quote is not closed", ErrMalformed)
		case err != nil:
			return 0, err
		case c == '\'' && !t.s.NoQuote:
			if !t.quoted {
				t.quoted = true
				continue
			}
			if ahead, err := t.s.r.Peek(1); err == nil && ahead[0] == '\'' {
				t.s.r.Discard(1)
				return c, nil
			} else if err != nil && err != io.EOF {
				return 0, err
			}
			t.quoted = false
		case !t.quoted && (c == ' ' || c == '\n'):
			t.s.r.UnreadByte()
			return 0, io.EOF
		default:
			return c, nil
		}
	}
}

// Read implements io.Reader for long tokens. It takes runs without a special byte at once.
func (t *Token) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && t.err == nil {
		if t.quoted {
			if run := t.run(p[n:]); run > 0 {
				n += run
				continue
			}
		}
		c, err := t.next()
		if err != nil {
			break
		}
		p[n] = c
		n++
		if t.s.r.Buffered() == 0 {
			return n, nil // rather deliver than wait
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, t.err
}

// run copies quoted bytes up to the next quote out of the buffer.
func (t *Token) run(p []byte) int {
	ahead, _ := t.s.r.Peek(t.s.r.Buffered())
	if i := bytes.IndexByte(ahead, '\''); i >= 0 {
		ahead = ahead[:i]
	}
	n := copy(p, ahead)
	t.s.r.Discard(n)
	return n
}

// A Line is a command or a response, by its tokens.
type Line []string

// At returns a token, "" if there is none.
func (l Line) At(i int) string {
	if i >= len(l) {
		return ""
	}
	return l[i]
}

// Text joins the tokens from the i-th on, for people.
func (l Line) Text(i int) string {
	if i >= len(l) {
		return ""
	}
	return strings.Join(l[i:], " ")
}

// Quote writes a token of a request. What is not plainly a word is quoted.
func Quote(s string) string {
	if s != "" && strings.Trim(s, wordBytes) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

const wordBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/.-_#*~:@%=,;?!$&<>[]{}|^`\"\\"
