package ardp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Sizes in bytes and packets.
const (
	// MaxPayload is the size of the payload of a full packet.
	MaxPayload = 1250
	// Window is the number of packets that a server sends before it waits for an acknowledgement.
	Window = 16
)

// Flags of a Header.
const (
	flagControl     = 0x40 // no data for the application
	flagAcknowledge = 0x80 // requests an acknowledgement
)

// Options of a Header.
const (
	optionRefused  = 1
	optionRedirect = 4
	OptionQueue    = 254 // queue position and wait time
)

// ErrMalformed is wrapped by the errors for datagrams that are not ARDP packets.
var ErrMalformed = errors.New("malformed ARDP packet")

// A Header is the header of a packet. On the wire, trailing fields with default values are omitted.
type Header struct {
	CID      uint16 // connection ID, which identifies the exchange
	Seq      uint16 // packet number, from 1; 0 for control packets
	Total    uint16 // packets of the message; 0 if unknown
	Received uint16 // last packet received in sequence from the peer
	Wait     uint16 // seconds to wait before retransmitting; 0 for the default
	Flags    byte
	Option   byte
	Position uint16 // position in the server's queue, from 1; 0 if unknown
}

// Offsets of the ends of the fields.
const (
	endCID      = 3
	endTotal    = 7
	endReceived = 9
	endWait     = 11
	endFlags    = 12
	endOption   = 13
	endQueue    = 20 // of OptionQueue: flags, position, time in seconds
)

// The flags of OptionQueue.
const (
	queueHasPosition = 1
	queueHasTime     = 2
)

// Parse splits a packet into header and payload.
func Parse(packet []byte) (Header, []byte, error) {
	if len(packet) == 0 {
		return Header{}, nil, fmt.Errorf("%w: empty", ErrMalformed)
	}
	n := int(packet[0] & 0x3f)
	if packet[0]>>6 != 0 || n == 0 || n > len(packet) {
		return Header{}, nil, fmt.Errorf("%w: first byte %#02x before %d bytes", ErrMalformed,
			packet[0], len(packet)-1)
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
		h.Total = 1 // a single-packet message may omit the numbers
	} else {
		h.Total = number(5, 0)
	}
	if n >= endFlags {
		h.Flags = head[11]
	}
	if n >= endOption {
		h.Option = head[12]
	}
	if h.Option == OptionQueue && n > endOption && h.Flags&0x0f == 0 &&
		head[endOption]&queueHasPosition != 0 {
		h.Position = number(endOption+1, 0)
	}
	return h, packet[n:], nil
}

// Append appends the first size bytes of the header and then the payload to b.
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

// Packets splits a request into packets with the headers that clients send.
func Packets(cid uint16, message []byte) [][]byte {
	total := max(1, (len(message)+MaxPayload-1)/MaxPayload)
	packets := make([][]byte, total)
	for i := range packets {
		h := Header{CID: cid, Seq: uint16(i + 1), Total: uint16(total)}
		packets[i] = h.Append(nil, endReceived, message[i*MaxPayload:min(len(message), (i+1)*MaxPayload)])
	}
	return packets
}

// ReplyPackets splits a reply into packets like the Prospero server. A single packet has no numbers.
// Otherwise only the last packet has the total, and the last of each window requests an
// acknowledgement.
func ReplyPackets(cid uint16, message []byte) [][]byte {
	total := max(1, (len(message)+MaxPayload-1)/MaxPayload)
	packets := make([][]byte, total)
	for i := range packets {
		number := 0
		if i+1 == total {
			number = total
		}
		packets[i] = ReplyPacket(cid, uint16(i+1), uint16(number),
			message[i*MaxPayload:min(len(message), (i+1)*MaxPayload)])
	}
	return packets
}

// ReplyPacket returns one packet of ReplyPackets. Total is 0 unless the packet is the last.
func ReplyPacket(cid, seq, total uint16, payload []byte) []byte {
	h, size := Header{CID: cid, Seq: seq, Total: total}, endTotal
	switch {
	case seq == 1 && total == 1:
		size = endCID
	case total == 0 && seq%Window == 0:
		h.Received, h.Flags, size = 1, flagAcknowledge, endFlags
	}
	return h.Append(nil, size, payload)
}

// Acknowledgement returns the control packet that acknowledges packets up to received.
func Acknowledgement(cid, received uint16) []byte {
	return Header{CID: cid, Received: received}.Append(nil, endReceived, nil)
}

// Refusal returns the control packet with which a server refuses a request.
func Refusal(cid uint16) []byte {
	return Header{CID: cid, Flags: flagControl, Option: optionRefused}.Append(nil, endOption, nil)
}

// WaitPacket returns the control packet that asks the client to wait before it retransmits.
func WaitPacket(cid, seconds uint16) []byte {
	return Header{CID: cid, Wait: seconds}.Append(nil, endWait, nil)
}

// QueuePacket is like WaitPacket, and also contains the client's position in the queue.
func QueuePacket(cid, seconds, position uint16) []byte {
	packet := Header{CID: cid, Wait: seconds, Option: OptionQueue}.Append(nil, endOption, nil)
	packet[0] = endQueue
	packet = append(packet, queueHasPosition|queueHasTime)
	packet = binary.BigEndian.AppendUint16(packet, position)
	return binary.BigEndian.AppendUint32(packet, uint32(seconds))
}
