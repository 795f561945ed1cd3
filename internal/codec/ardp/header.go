package ardp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Sizes in bytes and packets.
const (
	// MaxPayload is how much of a message travels in one packet.
	MaxPayload = 1250
	// Window is how many packets a server sends before it wants to know what arrived.
	Window = 16
)

// Flags of a Header.
const (
	FlagControl     = 0x40 // no data for the application
	FlagAcknowledge = 0x80 // please say what arrived
)

// Options of a Header.
const (
	OptionRefused  = 1
	OptionRedirect = 4
	OptionQueue    = 254 // how long the client has to wait
)

// ErrMalformed is the error for what is no ARDP packet.
var ErrMalformed = errors.New("malformed ARDP packet")

// A Header stands in front of each packet. Fields at the end that have their usual values are left
// out.
type Header struct {
	CID      uint16 // which exchange the packet belongs to
	Seq      uint16 // number of the packet, from 1; 0 for control packets
	Total    uint16 // packets of the message; 0 if not known yet
	Received uint16 // all packets of the other side up to here have arrived
	Wait     uint16 // seconds to wait before asking again; 0 for the usual
	Flags    byte
	Option   byte
	Position uint16 // place in the server's queue, from 1; 0 if it does not tell
}

// Offsets behind the fields.
const (
	endCID      = 3
	endTotal    = 7
	endReceived = 9
	endWait     = 11
	endFlags    = 12
	endOption   = 13
	endQueue    = 20 // of OptionQueue: what is known, the position, the time in seconds
)

// What is known of OptionQueue.
const (
	knownPosition = 1
	knownTime     = 2
)

// Parse splits a packet into header and payload.
func Parse(packet []byte) (Header, []byte, error) {
	if len(packet) == 0 {
		return Header{}, nil, fmt.Errorf("%w: empty", ErrMalformed)
	}
	n := int(packet[0] & 0x3f)
	if packet[0]>>6 != 0 || n == 0 || n > len(packet) {
		return Header{}, nil, fmt.Errorf("%w: first byte %#02x before %d bytes", ErrMalformed, packet[0], len(packet)-1)
	}
	head := packet[:n]
	number := func(at int, absent uint16) uint16 {
		if len(head) < at+2 {
			return absent
		}
		return binary.BigEndian.Uint16(head[at:])
	}
	h := Header{CID: number(1, 0), Seq: number(3, 1), Received: number(7, 0), Wait: number(9, 0)}
	if n < 5 {
		h.Total = 1 // a message in one packet needs no numbers
	} else {
		h.Total = number(5, 0)
	}
	if n >= endFlags {
		h.Flags = head[11]
	}
	if n >= endOption {
		h.Option = head[12]
	}
	if h.Option == OptionQueue && n > endOption && h.Flags&0x0f == 0 && head[endOption]&knownPosition != 0 {
		h.Position = number(endOption+1, 0)
	}
	return h, packet[n:], nil
}

// Append appends the header and then the payload to b. The header has the shortest form that holds
// size bytes at least.
func (h Header) Append(b []byte, size int, payload []byte) []byte {
	var head [endOption]byte
	head[0] = byte(size)
	binary.BigEndian.PutUint16(head[1:], h.CID)
	binary.BigEndian.PutUint16(head[3:], h.Seq)
	binary.BigEndian.PutUint16(head[5:], h.Total)
	binary.BigEndian.PutUint16(head[7:], h.Received)
	binary.BigEndian.PutUint16(head[9:], h.Wait)
	head[11], head[12] = h.Flags, h.Option
	return append(append(b, head[:size]...), payload...)
}

// Packets cuts a request into packets with the header that clients send.
func Packets(cid uint16, message []byte) [][]byte {
	total := max(1, (len(message)+MaxPayload-1)/MaxPayload)
	packets := make([][]byte, total)
	for i := range packets {
		h := Header{CID: cid, Seq: uint16(i + 1), Total: uint16(total)}
		packets[i] = h.Append(nil, endReceived, message[i*MaxPayload:min(len(message), (i+1)*MaxPayload)])
	}
	return packets
}

// ReplyPackets cuts a reply into packets as the Prospero server does: without numbers if one will
// do, else with the total only in the last, and a wish for an acknowledgement in each that fills a
// window.
func ReplyPackets(cid uint16, message []byte) [][]byte {
	total := max(1, (len(message)+MaxPayload-1)/MaxPayload)
	packets := make([][]byte, total)
	for i := range packets {
		number := 0
		if i+1 == total {
			number = total
		}
		packets[i] = ReplyPacket(cid, uint16(i+1), uint16(number), message[i*MaxPayload:min(len(message), (i+1)*MaxPayload)])
	}
	return packets
}

// ReplyPacket is one of ReplyPackets. Total is 0 if the packet is not the last.
func ReplyPacket(cid, seq, total uint16, payload []byte) []byte {
	h, size := Header{CID: cid, Seq: seq, Total: total}, endTotal
	switch {
	case seq == 1 && total == 1:
		size = endCID
	case total == 0 && seq%Window == 0:
		h.Received, h.Flags, size = 1, FlagAcknowledge, endFlags
	}
	return h.Append(nil, size, payload)
}

// Acknowledgement is the control packet that says what arrived.
func Acknowledgement(cid, received uint16) []byte {
	return Header{CID: cid, Received: received}.Append(nil, endReceived, nil)
}

// Refusal is the control packet with which a server turns a request down.
func Refusal(cid uint16) []byte {
	return Header{CID: cid, Flags: FlagControl, Option: OptionRefused}.Append(nil, endOption, nil)
}

// Patience is the control packet that asks the client to wait for so many seconds before it asks
// again.
func Patience(cid, seconds uint16) []byte {
	return Header{CID: cid, Wait: seconds}.Append(nil, endWait, nil)
}

// Queued is Patience that tells the client its place in the queue too.
func Queued(cid, seconds, position uint16) []byte {
	packet := Header{CID: cid, Wait: seconds, Option: OptionQueue}.Append(nil, endOption, nil)
	packet[0] = endQueue
	packet = append(packet, knownPosition|knownTime)
	packet = binary.BigEndian.AppendUint16(packet, position)
	return binary.BigEndian.AppendUint32(packet, uint32(seconds))
}
