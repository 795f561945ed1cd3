package tn3270

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/charmap"
)

// The screen size of model 2.
const (
	Rows    = 24
	Columns = 80
)

// The bits of a field attribute (GA23-0059, "Field attributes").
const (
	attrProtected = 0x20
	attrNumeric   = 0x10
	attrDisplay   = 0x0c // mask of the display bits
	attrBright    = 0x08
	attrHidden    = 0x0c
	attrModified  = 0x01
)

// A cell is a position of the screen. It has a character, or the attribute of the field that starts
// after it.
type cell struct {
	field   bool
	graphic bool // from the alternate character set
	code    byte
}

func (c cell) protected() bool { return c.code&attrProtected != 0 }

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
// is empty, and its keyboard is locked until the host restores it. A Screen is not safe for
// concurrent use.
type Screen struct {
	cells  [size]cell
	cursor int
	aid    AID // the last key, for the Read commands of the host
	ready  bool
}

func next(at int) int { return (at + 1) % size }
func prev(at int) int { return (at + size - 1) % size }

// Ready reports whether the keyboard is unlocked.
func (s *Screen) Ready() bool { return s.ready }

// Reset unlocks the keyboard, like the Reset key.
func (s *Screen) Reset() { s.ready, s.aid = true, aidNone }

// Cursor returns the position of the cursor, from 0.
func (s *Screen) Cursor() (row, column int) { return s.cursor / Columns, s.cursor % Columns }

func (s *Screen) erase() {
	s.cells, s.cursor = [size]cell{}, 0
}

// field returns the start and the attribute of the field that contains the position at. On a screen
// without fields, start is -1 and the attribute is unprotected.
func (s *Screen) field(at int) (start int, attr cell) {
	for i, n := at, 0; n < size; i, n = prev(i), n+1 {
		if s.cells[i].field {
			return i, s.cells[i]
		}
	}
	return -1, cell{}
}

func (s *Screen) resetModified() {
	for i := range s.cells {
		if s.cells[i].field {
			s.cells[i].code &^= attrModified
		}
	}
}

// eraseUnprotected clears the unprotected positions from start to stop. If both are the same, it
// clears those of the whole screen.
func (s *Screen) eraseUnprotected(start, stop int) {
	_, attr := s.field(start)
	for i := start; ; {
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

// firstInput returns the first position of the next unprotected field whose attribute is at the
// position at or after it, or 0 if there is none.
func (s *Screen) firstInput(at int) int {
	for i, n := at, 0; n < size; i, n = next(i), n+1 {
		if c := s.cells[i]; c.field && !c.protected() && !s.cells[next(i)].field {
			return next(i)
		}
	}
	return 0
}

// Text returns the displayed text: at most 24 lines, each ended by a line feed. It removes trailing
// spaces and trailing empty lines. The text has no control characters except line feeds.
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

// line returns the first limit characters of a line of the screen. attr is the field attribute at the
// start of the line, and is updated to the one at its end. If mark is not nil, line inserts its result
// where the brightness changes.
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

// Draw appends output that draws the screen on a terminal, with control sequences of ECMA-48. The
// host's text cannot contain control sequences. A smaller terminal shows the upper left part.
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
