// Package tftp encodes and decodes packets of the Trivial File Transfer Protocol (RFC 1350), with
// options (RFC 2347).
package tftp

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The opcodes (RFC 1350, section 5).
const (
	Read  = 1 // RRQ
	Write = 2 // WRQ
	Data  = 3 // DATA
	Ack   = 4 // ACK
	Error = 5 // ERROR
	OAck  = 6 // OACK (RFC 2347)
)

// The error codes (RFC 1350, appendix).
const (
	Undefined = iota
	NotFound
	AccessViolation
	DiskFull
	IllegalOperation
	UnknownTransfer
	FileExists
	NoSuchUser
	OptionsRefused // RFC 2347
)

// DefaultBlock is the block size in bytes without the option blksize.
const DefaultBlock = 512

// An Option is a name and its value.
type Option struct{ Name, Value string }

// A Packet is one datagram. Fields that the opcode does not use are zero.
type Packet struct {
	Op      uint16
	File    string   // of Read and Write
	Mode    string   // of Read and Write
	Options []Option // of Read, Write and OAck
	Block   uint16   // of Data and Ack
	Data    []byte   // of Data; aliases the datagram
	Code    uint16   // of Error
	Text    string   // of Error
}

// Encode returns the datagram. Strings must not contain NUL.
func (p Packet) Encode() []byte {
	b := binary.BigEndian.AppendUint16(nil, p.Op)
	word := func(s string) { b = append(append(b, s...), 0) }
	switch p.Op {
	case Read, Write:
		word(p.File)
		word(p.Mode)
	case Data:
		return append(binary.BigEndian.AppendUint16(b, p.Block), p.Data...)
	case Ack:
		return binary.BigEndian.AppendUint16(b, p.Block)
	case Error:
		b = binary.BigEndian.AppendUint16(b, p.Code)
		word(p.Text)
		return b
	}
	for _, o := range p.Options {
		word(o.Name)
		word(o.Value)
	}
	return b
}

// ErrMalformed is the error for a datagram that is not a TFTP packet.
var ErrMalformed = errors.New("malformed TFTP packet")

// Parse decodes a datagram. The error text may lack its final NUL, because some servers omit it.
func Parse(b []byte) (p Packet, err error) {
	if string(b) == "\x00\x06" {
		return Packet{Op: OAck}, nil // no option is accepted
	}
	if len(b) < 4 {
		return p, ErrMalformed
	}
	p.Op = binary.BigEndian.Uint16(b)
	number, rest := binary.BigEndian.Uint16(b[2:]), b[4:]
	switch p.Op {
	case Data:
		p.Block, p.Data = number, rest
		return p, nil
	case Ack:
		p.Block = number
		return p, nil
	case Error:
		text, _, _ := bytes.Cut(rest, []byte{0})
		p.Code, p.Text = number, string(text)
		return p, nil
	case Read, Write, OAck:
	default:
		return Packet{}, ErrMalformed
	}
	body, ok := bytes.CutSuffix(b[2:], []byte{0})
	if !ok {
		return Packet{}, ErrMalformed
	}
	words := strings.Split(string(body), "\x00")
	if p.Op != OAck {
		if len(words) < 2 {
			return Packet{}, ErrMalformed
		}
		p.File, p.Mode = words[0], strings.ToLower(words[1])
		words = words[2:]
	}
	if len(words)%2 != 0 {
		return Packet{}, ErrMalformed
	}
	for i := 0; i < len(words); i += 2 {
		p.Options = append(p.Options, Option{strings.ToLower(words[i]), words[i+1]})
	}
	return p, nil
}

// String describes the packet for traces, without its data.
func (p Packet) String() string {
	switch p.Op {
	case Read, Write:
		return fmt.Sprintf("%s %q %s%s", map[uint16]string{Read: "RRQ", Write: "WRQ"}[p.Op], p.File,
			p.Mode, optionText(p.Options))
	case Data:
		return fmt.Sprintf("DATA %d, %d bytes", p.Block, len(p.Data))
	case Ack:
		return fmt.Sprintf("ACK %d", p.Block)
	case Error:
		return fmt.Sprintf("ERROR %d %q", p.Code, p.Text)
	}
	return "OACK" + optionText(p.Options)
}

func optionText(options []Option) string {
	var b strings.Builder
	for _, o := range options {
		fmt.Fprintf(&b, " %q=%q", o.Name, o.Value)
	}
	return b.String()
}

// NetASCII returns a reader that decodes r from netascii: CR LF becomes LF, CR NUL becomes CR (RFC
// 764).
func NetASCII(r io.Reader) io.Reader { return &netASCII{r: bufio.NewReader(r)} }

type netASCII struct {
	r   *bufio.Reader
	cr  bool // the last byte was a CR, which is not yet decoded
	err error
}

func (n *netASCII) Read(p []byte) (out int, err error) {
	for out < len(p) && n.err == nil && (out == 0 || n.r.Buffered() > 0) {
		c, err := n.r.ReadByte()
		switch {
		case err != nil:
			if n.err = err; n.cr && err == io.EOF {
				p[out] = '\r'
				out++
			}
		case n.cr && (c == '\n' || c == 0):
			if p[out] = c; c == 0 {
				p[out] = '\r'
			}
			n.cr = false
			out++
		case n.cr:
			p[out], n.cr = '\r', false
			out++
			n.r.UnreadByte()
		case c == '\r':
			n.cr = true
		default:
			p[out] = c
			out++
		}
	}
	if out > 0 || len(p) == 0 {
		return out, nil
	}
	return 0, n.err
}
