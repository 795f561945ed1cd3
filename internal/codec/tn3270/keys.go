package tn3270

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Key is what a key of the caller's terminal, or a few in a row, means. One field is set; none if
// it means nothing.
type Key struct {
	AID   AID
	Move  Move
	Rune  rune // to be typed
	Reset bool // frees the keyboard
	Draw  bool // draws the screen anew
}

// keymap has what terminals send for the keys.
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
		m[fmt.Sprintf("\x1b%d", i)] = Key{AID: PF(i)}
	}
	for i := 1; i <= 24; i++ {
		m[fmt.Sprintf("\x1bf%02d", i)] = Key{AID: PF(i)}
	}
	// The function keys of xterm and the VT220.
	for i, s := range strings.Fields("OP OQ OR OS [15~ [17~ [18~ [19~ [20~ [21~ [23~ [24~") {
		m["\x1b"+s] = Key{AID: PF(i + 1)}
	}
	return m
})

// longest is the length of the longest sequence in keymap, in bytes.
const longest = 5

// ParseKey decodes the key that p begins with, and how many bytes it has; 0 if more must come to
// tell.
//
// Characters, Enter, Tab, Shift-Tab, Backspace and the arrows are as on the keyboard of an ANSI
// terminal. The others are
//
//	PF1 to PF12    F1 to F12
//	PF1 to PF9     Esc 1 to Esc 9
//	PF1 to PF24    Esc f and two digits
//	PA1 to PA3     Esc p and a digit
//	Clear          Esc c
//	Reset          Ctrl-R
//	draw anew      Ctrl-L
func ParseKey(p []byte) (k Key, n int) {
	for n := 1; n <= min(len(p), longest); n++ {
		if k, ok := keymap()[string(p[:n])]; ok {
			return k, n
		}
	}
	if len(p) < longest && beginsKey(string(p)) {
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

// maxSequence bounds a control sequence that is to be skipped, in bytes.
const maxSequence = 32

// unknownSequence returns the length of an escape sequence that is no key; 0 if it goes on. A
// control sequence ends with a byte from 0x40 (ECMA-48).
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

// beginsKey reports whether p is the beginning of a sequence.
func beginsKey(p string) bool {
	for s := range keymap() {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
