// Package prospero reads and writes the text of Prospero messages: lines of tokens. Quoted tokens may
// contain any byte.
package prospero

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of a token, in bytes, and of a line, in tokens.
const (
	maxToken  = 64 << 10
	maxTokens = 4096
)

// ErrMalformed is wrapped by the errors for invalid messages.
var ErrMalformed = errors.New("malformed Prospero message")

// A Scanner splits a message into lines, and lines into tokens separated by spaces. Single quotes
// quote any byte, including line feeds. Two quotes within a quoted part are one quote. A part of a
// token may be quoted.
type Scanner struct {
	// NoQuote is set for version 1, which has no quoting.
	NoQuote bool

	r      *bufio.Reader
	inLine bool // a part of the line has been read
}

// NewScanner returns a Scanner that reads a message from r.
func NewScanner(r io.Reader) *Scanner {
	return &Scanner{r: bufio.NewReaderSize(r, 32<<10)}
}

// Reader returns a reader of the rest of the message.
func (s *Scanner) Reader() io.Reader { return s.r }

// token returns nil at the end of the line. The error is io.EOF only between lines.
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

// Token returns the next token of the line, or nil if there is none. The token must be read to its
// end before the scanner is used again.
func (s *Scanner) Token() (*Token, error) {
	for {
		c, err := s.r.ReadByte()
		switch {
		case err == io.EOF && s.inLine:
			s.inLine = false
			return nil, nil // the last line may lack its line feed
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

// Rest reads the remaining tokens of the line.
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

// Line reads the next line that is not empty. The error is io.EOF after the last line.
func (s *Scanner) Line() (Line, error) {
	for {
		if l, err := s.Rest(); len(l) > 0 || err != nil {
			return l, err
		}
	}
}

// Word returns at most max bytes of the first word of the line. It does not consume them.
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

// A Token is a reader of one token, which may be a whole file.
type Token struct {
	s      *Scanner
	quoted bool
	err    error
}

// next returns the next byte. The error is io.EOF at the end of the token.
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
			return 0, fmt.Errorf("%w: unterminated quote", ErrMalformed)
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

// Read implements io.Reader. It copies runs of bytes without quotes at once.
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
			return n, nil // return the available bytes instead of waiting for more
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, t.err
}

// run copies buffered quoted bytes up to the next quote to p. It returns the number of bytes.
func (t *Token) run(p []byte) int {
	ahead, _ := t.s.r.Peek(t.s.r.Buffered())
	if i := bytes.IndexByte(ahead, '\''); i >= 0 {
		ahead = ahead[:i]
	}
	n := copy(p, ahead)
	t.s.r.Discard(n)
	return n
}

// A Line holds the tokens of a line.
type Line []string

// At returns token i, or "" if there is none.
func (l Line) At(i int) string {
	if i >= len(l) {
		return ""
	}
	return l[i]
}

// Text joins the tokens from i on with spaces, for messages to users.
func (l Line) Text(i int) string {
	if i >= len(l) {
		return ""
	}
	return strings.Join(l[i:], " ")
}

// Quote returns a token for a request. It quotes s unless s consists of wordBytes.
func Quote(s string) string {
	if s != "" && strings.Trim(s, wordBytes) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

const wordBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" +
	"/.-_#*~:@%=,;?!$&<>[]{}|^`\"\\"
