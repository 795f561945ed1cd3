package telnet

import (
	"cmp"
	"fmt"
)

// Commands of RFC 854 and, for EOR, RFC 885.
const (
	cmdEOR  = 239 // end of record
	cmdSE   = 240 // end of subnegotiation
	cmdBRK  = 243 // break
	cmdIP   = 244 // interrupt process
	cmdSB   = 250 // subnegotiation
	cmdWILL = 251
	cmdWONT = 252
	cmdDO   = 253
	cmdDONT = 254
	cmdIAC  = 255
)

// Options that are not always refused.
const (
	optBinary = 0  // RFC 856
	optEcho   = 1  // RFC 857
	optSGA    = 3  // suppress go ahead, RFC 858
	optTType  = 24 // terminal type, RFC 1091
	optEOR    = 25 // end of record, RFC 885
	optNAWS   = 31 // window size, RFC 1073
)

// Commands in a subnegotiation of the terminal type (RFC 1091).
const (
	ttypeIs   = 0
	ttypeSend = 1
)

// Limits for a subnegotiation, in bytes: a longer one than maxSubneg is ignored, and one that has
// maxSkipped more bytes is a protocol violation.
const (
	maxSubneg  = 4 << 10
	maxSkipped = 1 << 20
)

var commandNames = map[byte]string{
	236: "EOF", 237: "SUSP", 238: "ABORT", cmdEOR: "EOR", cmdSE: "SE", 241: "NOP", 242: "DM", cmdBRK: "BRK",
	cmdIP: "IP", 245: "AO", 246: "AYT", 247: "EC", 248: "EL", 249: "GA", cmdSB: "SB", cmdWILL: "WILL",
	cmdWONT: "WONT", cmdDO: "DO", cmdDONT: "DONT", cmdIAC: "IAC",
}

// optionNames has the names of IANA's registry of telnet options, abbreviated.
var optionNames = map[byte]string{
	optBinary: "BINARY", optEcho: "ECHO", optSGA: "SGA", 5: "STATUS", 6: "TIMING-MARK",
	optTType: "TTYPE", optEOR: "EOR", optNAWS: "NAWS", 32: "TSPEED", 33: "LFLOW", 34: "LINEMODE",
	35: "XDISPLOC", 36: "OLD-ENVIRON", 37: "AUTHENTICATION", 38: "ENCRYPT", 39: "NEW-ENVIRON",
	optTN3270E: "TN3270E", 42: "CHARSET", 46: "STARTTLS",
}

func commandName(c byte) string { return nameOf(commandNames, c) }
func optionName(o byte) string  { return nameOf(optionNames, o) }

func nameOf(names map[byte]string, b byte) string {
	return cmp.Or(names[b], fmt.Sprint(b))
}

// A signal is the reason for which decoder.next returned.
type signal uint8

const (
	noSignal     signal = iota // end of src or dst
	sigCommand                 // decoder.command
	sigNegotiate               // decoder.command and decoder.option
	sigSubneg                  // decoder.option and decoder.payload
)

type decoderState uint8

const (
	inData decoderState = iota
	inIAC
	inNegotiation
	inSubnegOption
	inSubneg
	inSubnegIAC
)

// A decoder separates the data of one direction from the commands (RFC 854). It stores at most
// maxSubneg bytes.
type decoder struct {
	// binary disables the translation of CR NUL (RFC 856).
	binary bool

	state   decoderState
	afterCR bool // the last byte of data was a CR
	command byte
	option  byte
	payload []byte // of a subnegotiation
	skipped int    // bytes of the subnegotiation beyond maxSubneg
}

// next decodes up to the next signal, or until src or dst is exhausted.
func (d *decoder) next(dst, src []byte) (written, read int, sig signal) {
	for read < len(src) {
		c := src[read]
		switch d.state {
		case inData:
			if c == cmdIAC {
				read++
				d.state = inIAC
				continue
			}
			if d.afterCR && c == 0 && !d.binary {
				read++
				d.afterCR = false
				continue
			}
			if written == len(dst) {
				return written, read, noSignal
			}
		case inIAC:
			if c != cmdIAC {
				read++
				if d.startCommand(c) {
					return written, read, sigCommand
				}
				continue
			}
			if written == len(dst) {
				return written, read, noSignal
			}
			d.state = inData
		case inNegotiation:
			d.state, d.option = inData, c
			return written, read + 1, sigNegotiate
		default:
			read++
			if sig := d.subneg(c); sig != noSignal {
				return written, read, sig
			}
			continue
		}
		dst[written], d.afterCR = c, c == '\r'
		written++
		read++
	}
	return written, read, noSignal
}

// startCommand processes the byte after IAC and reports whether it is a complete command.
func (d *decoder) startCommand(c byte) bool {
	d.command = c
	switch c {
	case cmdWILL, cmdWONT, cmdDO, cmdDONT:
		d.state = inNegotiation
		return false
	case cmdSB:
		d.state, d.payload, d.skipped = inSubnegOption, d.payload[:0], 0
		return false
	}
	d.state = inData
	return true
}

// subneg processes a byte of a subnegotiation. A command ends it, because its SE must have been
// lost.
func (d *decoder) subneg(c byte) signal {
	switch {
	case d.state == inSubnegOption:
		d.option, d.state = c, inSubneg
		if c == cmdIAC { // not an option: IAC SB IAC SE
			d.state = inSubnegIAC
		}
	case d.state == inSubneg && c == cmdIAC:
		d.state = inSubnegIAC
	case d.state == inSubneg || c == cmdIAC:
		d.state = inSubneg
		if len(d.payload) < maxSubneg {
			d.payload = append(d.payload, c)
		} else {
			d.skipped++
		}
	case c == cmdSE:
		d.state = inData
		if d.skipped == 0 {
			return sigSubneg
		}
	case d.startCommand(c):
		return sigCommand
	}
	return noSignal
}

// An encoder encodes data: 255 is doubled and, unless binary is set, a CR without LF is followed by
// NUL (RFC 854).
type encoder struct {
	binary bool
	// lineEnds converts LF without CR to CR LF.
	lineEnds bool

	afterCR bool // the last byte was a CR, whose NUL is still to be written
}

// If more is true, a final CR is held back until the next byte is known.
func (e *encoder) encode(dst, p []byte, more bool) []byte {
	for _, c := range p {
		if e.afterCR && c != '\n' && !e.binary {
			dst = append(dst, 0)
		}
		if c == '\n' && e.lineEnds && !e.afterCR {
			dst = append(dst, '\r')
		}
		dst = append(dst, c)
		if c == cmdIAC {
			dst = append(dst, cmdIAC)
		}
		e.afterCR = c == '\r'
	}
	if e.afterCR && !more {
		if !e.binary {
			dst = append(dst, 0)
		}
		e.afterCR = false
	}
	return dst
}
