package tn3270

import "golang.org/x/text/encoding/charmap"

// An AID is a key that sends input to the host (GA23-0059, "Attention identification").
type AID byte

// The keys. pf returns PF1 to PF24.
const (
	Enter AID = 0x7d
	Clear AID = 0x6d
	PA1   AID = 0x6c
	PA2   AID = 0x6e
	PA3   AID = 0x6b

	aidNone       AID  = 0x60
	aidStructured byte = 0x88 // a structured field follows
)

var functionKeys = [24]AID{0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0x7a, 0x7b, 0x7c,
	0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0x4a, 0x4b, 0x4c}

func pf(n int) AID { return functionKeys[n-1] }

// isShort reports whether the key sends only its AID, without cursor and fields.
func (a AID) isShort() bool { return a == Clear || a == PA1 || a == PA2 || a == PA3 }

// Press presses a key and returns the record to send. It locks the keyboard until the host restores
// it. If the keyboard is already locked, Press returns nil.
func (s *Screen) Press(key AID) []byte {
	if !s.ready {
		return nil
	}
	if key == Clear {
		s.erase()
	}
	s.ready, s.aid = false, key
	if key.isShort() {
		return []byte{byte(key)}
	}
	return s.readModified(key)
}

func (s *Screen) readModified(key AID) []byte {
	out := s.header(key)
	formatted := false
	for i, c := range s.cells {
		if !c.field {
			continue
		}
		formatted = true
		if c.code&attrModified == 0 {
			continue
		}
		out = appendAddress(append(out, orderSBA), next(i))
		for j := next(i); !s.cells[j].field; j = next(j) {
			out = appendCharacter(out, s.cells[j], false)
		}
	}
	if !formatted {
		for _, c := range s.cells {
			out = appendCharacter(out, c, false)
		}
	}
	return out
}

func (s *Screen) readBuffer() []byte {
	out := s.header(s.aid)
	for _, c := range s.cells {
		if c.field {
			// The two highest bits only make the byte a graphic character.
			out = append(out, orderSF, graphicCodes[c.code&0x3f])
			continue
		}
		out = appendCharacter(out, c, true)
	}
	return out
}

func (s *Screen) header(key AID) []byte {
	if key == 0 { // no key was pressed yet
		key = aidNone
	}
	return appendAddress([]byte{byte(key)}, s.cursor)
}

func appendCharacter(dst []byte, c cell, nulls bool) []byte {
	if c.graphic {
		dst = append(dst, orderGE)
	}
	if c.code != 0 || c.graphic || nulls {
		dst = append(dst, c.code)
	}
	return dst
}

// Type types a character at the cursor. It returns false if the keyboard is locked, the position is
// protected, or EBCDIC does not have the character.
func (s *Screen) Type(r rune) bool {
	code, ok := charmap.CodePage037.EncodeRune(r)
	if !ok || code < 0x40 || !s.setChar(s.cursor, code) {
		return false
	}
	s.cursor = next(s.cursor)
	if c := s.cells[s.cursor]; c.field {
		if c.protected() && c.code&attrNumeric != 0 { // auto-skip
			s.cursor = s.firstInput(s.cursor)
		} else {
			s.cursor = next(s.cursor)
		}
	}
	return true
}

// setChar returns false if the keyboard is locked or the position is protected.
func (s *Screen) setChar(at int, code byte) bool {
	start, attr := s.field(at)
	if !s.ready || start == at || attr.protected() {
		return false
	}
	s.cells[at] = cell{code: code}
	if start >= 0 {
		s.cells[start].code |= attrModified
	}
	return true
}

// A Move is a key that moves the cursor.
type Move byte

// The moves.
const (
	Tab       Move = iota + 1 // to the next field
	BackTab                   // to the start of this field or of the previous one
	Backspace                 // to the left, deleting the character
	Up
	Down
	Left
	Right
)

// Move moves the cursor unless the keyboard is locked.
func (s *Screen) Move(m Move) {
	if !s.ready {
		return
	}
	switch m {
	case Tab:
		s.cursor = s.firstInput(s.cursor)
	case BackTab:
		s.backTab()
	case Backspace:
		if s.setChar(prev(s.cursor), 0) {
			s.cursor = prev(s.cursor)
		}
	case Up:
		s.cursor = (s.cursor + size - Columns) % size
	case Down:
		s.cursor = (s.cursor + Columns) % size
	case Left:
		s.cursor = prev(s.cursor)
	case Right:
		s.cursor = next(s.cursor)
	}
}

func (s *Screen) backTab() {
	for i, n := prev(prev(s.cursor)), 0; n < size; i, n = prev(i), n+1 {
		if c := s.cells[i]; c.field && !c.protected() && !s.cells[next(i)].field {
			s.cursor = next(i)
			return
		}
	}
	s.cursor = 0
}
