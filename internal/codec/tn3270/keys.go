package tn3270

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Key is the meaning of a key sequence of an ANSI terminal. At most one field is set; none if the
// sequence has no meaning.
type Key struct {
	AID   AID
	Move  Move
	Rune  rune // the character to type
	Reset bool // unlocks the keyboard
	Draw  bool // redraws the screen
}

var keymap = sync.OnceValue(func() map[string]Key {
	m := map[string]Key{
		"\r": {AID: Enter}, "\n": {AID: Enter}, "\x1bc": {AID: Clear},
		"\x1bp1": {AID: PA1}, "\x1bp2": {AID: PA2}, "\x1bp3": {AID: PA3},
		"\t": {Move: Tab}, "\x1b[Z": {Move: BackTab}, "\b": {Move: Backspace}, "\x7f": {Move: Backspace},
		"\x12": {Reset: true}, "\x0c": {Draw: true},
	}
	for i, move := range []Move{Up, Down, Right, Left} {
		m[fmt.Sprintf("\x1b[%c", 'A'+i)] = Key{Move: move}
		m[fmt.Sprintf("\x1bO%c", 'A'+i)] = Key{Move: move}
	}
	for i := 1; i <= 9; i++ {
		m[fmt.Sprintf("\x1b%d", i)] = Key{AID: pf(i)}
	}
	for i := 1; i <= 24; i++ {
		m[fmt.Sprintf("\x1bf%02d", i)] = Key{AID: pf(i)}
	}
	// The function keys of xterm and the VT220.
	for i, s := range strings.Fields("OP OQ OR OS [15~ [17~ [18~ [19~ [20~ [21~ [23~ [24~") {
		m["\x1b"+s] = Key{AID: pf(i + 1)}
	}
	return m
})

// maxKeyLen is the length of the longest sequence in keymap, in bytes.
const maxKeyLen = 5

// ParseKey decodes the key sequence at the beginning of p, which must not be empty. It returns the key
// and the length of the sequence in bytes, or 0 if p is incomplete.
//
// Characters, Enter, Tab, Shift-Tab, Backspace, and the arrow keys are those of an ANSI terminal. The
// others are
//
//	PF1 to PF12    F1 to F12
//	PF1 to PF9     Esc 1 to Esc 9
//	PF1 to PF24    Esc f and two digits
//	PA1 to PA3     Esc p and a digit
//	Clear          Esc c
//	Reset          Ctrl-R
//	redraw         Ctrl-L
func ParseKey(p []byte) (k Key, n int) {
	for n := 1; n <= min(len(p), maxKeyLen); n++ {
		if k, ok := keymap()[string(p[:n])]; ok {
			return k, n
		}
	}
	if len(p) < maxKeyLen && beginsKey(string(p)) {
		return Key{}, 0
	}
	if p[0] == 0x1b {
		return Key{}, unknownSequence(p)
	}
	if !utf8.FullRune(p) {
		return Key{}, 0
	}
	r, n := utf8.DecodeRune(p)
	if r < ' ' || r == utf8.RuneError {
		return Key{}, n
	}
	return Key{Rune: r}, n
}

// maxSequence limits the length of a skipped control sequence, in bytes.
const maxSequence = 32

// unknownSequence returns the length of an unknown escape sequence, or 0 if it is incomplete. A
// control sequence ends with a byte of 0x40 or higher (ECMA-48).
func unknownSequence(p []byte) int {
	if p[1] != '[' {
		return 2
	}
	for i, c := range p[2:] {
		if c >= 0x40 || i == maxSequence {
			return i + 3
		}
	}
	return 0
}

func beginsKey(p string) bool {
	for s := range keymap() {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
