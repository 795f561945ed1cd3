// Package tn3270 emulates the display of an IBM 3278 terminal. It applies the 3270 data stream of a
// host to a text screen, and encodes the input (RFC 1576; IBM GA23-0059, "3270 Information Display
// System: Data Stream Programmer's Reference").
//
// It does not support colors, extended attributes, or the functions of TN3270E (RFC 2355).
package tn3270

import (
	"errors"
	"fmt"
)

// The commands in the code of remote attachment (GA23-0059, "Commands").
const (
	cmdWrite        = 0xf1
	cmdEraseWrite   = 0xf5
	cmdEraseWriteA  = 0x7e // Erase/Write Alternate; the alternate size is the same
	cmdEraseUnprot  = 0x6f // Erase All Unprotected
	cmdWriteStruct  = 0xf3 // Write Structured Field
	cmdReadBuffer   = 0xf2
	cmdReadModified = 0xf6
	cmdReadModAll   = 0x6e
)

// localCommands maps the commands in the code of local attachment to those of remote attachment.
var localCommands = [...]byte{
	0x01: cmdWrite, 0x05: cmdEraseWrite, 0x0d: cmdEraseWriteA, 0x0f: cmdEraseUnprot, 0x11: cmdWriteStruct,
	0x02: cmdReadBuffer, 0x06: cmdReadModified, 0x0e: cmdReadModAll,
}

// The orders (GA23-0059, "Orders").
const (
	orderPT  = 0x05 // Program Tab
	orderGE  = 0x08 // Graphic Escape
	orderSBA = 0x11 // Set Buffer Address
	orderEUA = 0x12 // Erase Unprotected to Address
	orderIC  = 0x13 // Insert Cursor
	orderSF  = 0x1d // Start Field
	orderSA  = 0x28 // Set Attribute
	orderSFE = 0x29 // Start Field Extended
	orderMF  = 0x2c // Modify Field
	orderRA  = 0x3c // Repeat to Address
)

// The supported bits of the Write Control Character.
const (
	wccResetModified = 0x01
	wccRestore       = 0x02 // the keyboard
)

// attrField is the type of the field attribute in attribute pairs.
const attrField = 0xc0

var errShort = errors.New("the record ends within an order")

// Apply applies a record of the host, without its IAC EOR. It returns the response to send, or nil
// if the record requires none. After an error the screen has the changes up to the invalid order.
func (s *Screen) Apply(record []byte) (reply []byte, err error) {
	if len(record) == 0 {
		return nil, nil
	}
	command := record[0]
	if int(command) < len(localCommands) && localCommands[command] != 0 {
		command = localCommands[command]
	}
	switch command {
	case cmdWrite:
		return nil, s.write(s.cursor, record[1:])
	case cmdEraseWrite, cmdEraseWriteA:
		s.erase()
		return nil, s.write(0, record[1:])
	case cmdEraseUnprot:
		s.eraseAllUnprotected()
		return nil, nil
	case cmdReadBuffer:
		return s.readBuffer(), nil
	case cmdReadModified, cmdReadModAll:
		return s.readModified(s.aid), nil
	case cmdWriteStruct:
		return structuredFields(record[1:])
	}
	return nil, fmt.Errorf("unknown 3270 command %02x", command)
}

type writer struct {
	*Screen
	at        int // the buffer address
	rest      []byte
	afterChar bool // after a character, or a Program Tab that cleared a field
}

func (s *Screen) write(at int, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	wcc := p[0]
	if wcc&wccResetModified != 0 {
		s.resetModified()
	}
	w := writer{Screen: s, at: at, rest: p[1:]}
	for len(w.rest) > 0 {
		if err := w.execute(); err != nil {
			return err
		}
	}
	if wcc&wccRestore != 0 {
		s.Reset()
	}
	return nil
}

func (w *writer) execute() error {
	c := w.rest[0]
	w.rest = w.rest[1:]
	filled := c == orderPT && w.programTab()
	var err error
	switch c {
	case orderPT:
	case orderSBA:
		w.at, err = w.address()
	case orderIC:
		w.cursor = w.at
	case orderSF:
		var p []byte
		if p, err = w.read(1); err == nil {
			w.startField(p[0])
		}
	case orderSFE:
		var attr byte
		if attr, _, err = w.attributes(); err == nil {
			w.startField(attr)
		}
	case orderMF:
		err = w.modifyField()
	case orderSA:
		_, err = w.read(2)
	case orderRA:
		err = w.repeat()
	case orderEUA:
		var stop int
		if stop, err = w.address(); err == nil {
			w.eraseUnprotected(w.at, stop)
			w.at = stop
		}
	default:
		filled = true
		var ch cell
		if ch, err = w.character(c); err == nil {
			w.put(ch)
		}
	}
	w.afterChar = filled
	return err
}

func (w *writer) read(n int) ([]byte, error) {
	if len(w.rest) < n {
		return nil, errShort
	}
	p := w.rest[:n]
	w.rest = w.rest[n:]
	return p, nil
}

func (w *writer) address() (int, error) {
	p, err := w.read(2)
	if err != nil {
		return 0, err
	}
	return parseAddress(p[0], p[1])
}

// character returns the character that begins with c, which may be a Graphic Escape.
func (w *writer) character(c byte) (cell, error) {
	if c != orderGE {
		return cell{code: c}, nil
	}
	p, err := w.read(1)
	if err != nil {
		return cell{}, err
	}
	return cell{code: p[0], graphic: true}, nil
}

func (w *writer) put(c cell) {
	w.cells[w.at] = c
	w.at = next(w.at)
}

func (w *writer) startField(attr byte) { w.put(cell{field: true, code: attr}) }

// attributes reads the attribute pairs of SFE and MF and returns the field attribute.
func (w *writer) attributes() (attr byte, found bool, err error) {
	p, err := w.read(1)
	if err != nil {
		return 0, false, err
	}
	if p, err = w.read(2 * int(p[0])); err != nil {
		return 0, false, err
	}
	for ; len(p) > 0; p = p[2:] {
		if p[0] == attrField {
			attr, found = p[1], true
		}
	}
	return attr, found, nil
}

func (w *writer) modifyField() error {
	attr, found, err := w.attributes()
	if err != nil {
		return err
	}
	c := &w.cells[w.at]
	if !c.field {
		return fmt.Errorf("modify field at %d, where no field starts", w.at)
	}
	if found {
		c.code = attr
	}
	w.at = next(w.at)
	return nil
}

// repeat fills the screen up to an address. If that is the current address, it fills all of it.
func (w *writer) repeat() error {
	stop, err := w.address()
	if err != nil {
		return err
	}
	p, err := w.read(1)
	if err != nil {
		return err
	}
	c, err := w.character(p[0])
	if err != nil {
		return err
	}
	for {
		w.put(c)
		if w.at == stop {
			return nil
		}
	}
}

// programTab moves to the next unprotected field. After a character, it first clears the rest of the
// current field. It returns true if it cleared up to the end of the screen.
func (w *writer) programTab() (cleared bool) {
	if c := w.cells[w.at]; c.field && !c.protected() {
		w.at = next(w.at)
		return false
	}
	for ; ; w.at++ {
		if w.at == size {
			w.at = 0
			return w.afterChar
		}
		c := &w.cells[w.at]
		if c.field {
			break
		}
		if w.afterChar {
			*c = cell{}
		}
	}
	for ; w.at < size; w.at++ {
		if c := w.cells[w.at]; c.field && !c.protected() {
			w.at = next(w.at)
			return false
		}
	}
	w.at = 0
	return false
}
