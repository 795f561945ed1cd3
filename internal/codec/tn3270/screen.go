package tn3270

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/charmap"
)

// The size of the screen: that of a model 2.
const (
	Rows    = 24
	Columns = 80
)

// The bits of a field attribute (GA23-0059, "Field attributes").
const (
	attrProtected = 0x20
	attrNumeric   = 0x10
	attrDisplay   = 0x0c // two bits: how it is displayed
	attrBright    = 0x08
	attrHidden    = 0x0c
	attrModified  = 0x01
)

// A cell is a position of the screen: a character, or the attribute of the field that begins after
// it.
type cell struct {
	field   bool
	graphic bool // of the alternative character set
	code    byte
}

func (c cell) protected() bool { return c.code&attrProtected != 0 }

// rune returns how a character looks.
func (c cell) rune() rune {
	switch {
	case c.field:
		return ' '
	case c.graphic:
		return '?'
	case c.code == 0x1c: // DUP
		return '*'
	case c.code == 0x1e: // field mark
		return ';'
	}
	if r := charmap.CodePage037.DecodeByte(c.code); unicode.IsPrint(r) {
		return r
	}
	return ' '
}

// A Screen is a screen of 24 lines of 80 characters, with a cursor and a keyboard. The zero Screen
// is empty, and its keyboard is locked until the host restores it. It is not safe for concurrent
// use.
type Screen struct {
	cells  [size]cell
	cursor int
	aid    AID // the last key, for a host that reads
	ready  bool
}

func next(at int) int { return (at + 1) % size }
func back(at int) int { return (at + size - 1) % size }

// Ready reports whether the keyboard is free: the host awaits input.
func (s *Screen) Ready() bool { return s.ready }

// Reset frees the keyboard, as its Reset key does.
func (s *Screen) Reset() { s.ready, s.aid = true, aidNone }

// Cursor returns the position of the cursor, from 0.
func (s *Screen) Cursor() (row, column int) { return s.cursor / Columns, s.cursor % Columns }

func (s *Screen) erase() {
	s.cells, s.cursor = [size]cell{}, 0
}

// field returns where the field begins that has the position at, and its attribute. On a screen
// without fields start is -1, and all can be typed into.
func (s *Screen) field(at int) (start int, attr cell) {
	for i, n := at, 0; n < size; i, n = back(i), n+1 {
		if s.cells[i].field {
			return i, s.cells[i]
		}
	}
	return -1, cell{}
}

// resetModified forgets which fields were typed into.
func (s *Screen) resetModified() {
	for i := range s.cells {
		if s.cells[i].field {
			s.cells[i].code &^= attrModified
		}
	}
}

// eraseUnprotected clears what can be typed into from a position up to another; all of the screen
// if they are the same.
func (s *Screen) eraseUnprotected(from, stop int) {
	_, attr := s.field(from)
	for i := from; ; {
		if c := s.cells[i]; c.field {
			attr = c
		} else if !attr.protected() {
			s.cells[i] = cell{}
		}
		if i = next(i); i == stop {
			return
		}
	}
}

// eraseAllUnprotected is the command Erase All Unprotected.
func (s *Screen) eraseAllUnprotected() {
	s.eraseUnprotected(0, 0)
	for i := range s.cells {
		if c := &s.cells[i]; c.field && !c.protected() {
			c.code &^= attrModified
		}
	}
	s.cursor = s.firstInput(0)
	s.Reset()
}

// firstInput returns the next position that begins a field to be typed into, with the attribute at
// or after at; 0 if there is none.
func (s *Screen) firstInput(at int) int {
	for i, n := at, 0; n < size; i, n = next(i), n+1 {
		if c := s.cells[i]; c.field && !c.protected() && !s.cells[next(i)].field {
			return next(i)
		}
	}
	return 0
}

// Text returns the screen as it looks: at most 24 lines, each ended by a line feed, without the
// blanks at their ends and without empty lines at the end. There is no control character in it but
// the line feeds.
func (s *Screen) Text() string {
	var b strings.Builder
	_, attr := s.field(size - 1)
	for row := range Rows {
		b.WriteString(strings.TrimRight(s.line(row, Columns, &attr, nil), " "))
		b.WriteByte('\n')
	}
	text := strings.TrimRight(b.String(), "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}

// line returns the first limit characters of a line of the screen. Attr is the attribute that holds
// where it begins, and then the one that holds after it. Mark, if not nil, returns what to put
// before a character whose brightness differs from the one before.
func (s *Screen) line(row, limit int, attr *cell, mark func(bright bool) string) string {
	var b strings.Builder
	bright := false
	for column, c := range s.cells[row*Columns : (row+1)*Columns] {
		if c.field {
			*attr = c
		}
		if column >= limit {
			continue
		}
		display := attr.code & attrDisplay
		if is := display == attrBright; mark != nil && is != bright {
			b.WriteString(mark(is))
			bright = is
		}
		if display == attrHidden {
			b.WriteByte(' ')
		} else {
			b.WriteRune(c.rune())
		}
	}
	if mark != nil && bright {
		b.WriteString(mark(false))
	}
	return b.String()
}

// Draw appends what draws the screen on a terminal by the control sequences of ECMA-48. All of them
// are made here: the host's text has none. A terminal of fewer columns or rows gets the upper left
// part.
func (s *Screen) Draw(dst []byte, columns, rows int) []byte {
	_, attr := s.field(size - 1)
	for row := range min(Rows, rows) {
		dst = fmt.Appendf(dst, "\x1b[%d;1H\x1b[K%s", row+1, s.line(row, columns, &attr, highlight))
	}
	if rows > Rows {
		dst = fmt.Appendf(dst, "\x1b[%d;1H\x1b[J", Rows+1)
	}
	row, column := s.Cursor()
	return fmt.Appendf(dst, "\x1b[%d;%dH", row+1, column+1)
}

func highlight(bright bool) string {
	if bright {
		return "\x1b[1m"
	}
	return "\x1b[m"
}
