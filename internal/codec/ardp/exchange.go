package ardp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"time"
)

// The errors of an exchange.
var (
	ErrNoReply = errors.New("no reply")
	ErrRefused = errors.New("the server refused the request")
	ErrTooLong = errors.New("reply too long")
)

// Timing configures timeouts. The zero value is the default of the original implementation.
type Timing struct {
	First time.Duration // time until the first retransmission, doubled for each; 0 means 4 s
	Tries int           // retransmissions before giving up; 0 means 3
	// Limit is the timeout for the next packet of the reply in sequence. It also bounds the time
	// that a server may ask the client to wait. 0 means ten minutes.
	Limit time.Duration
	// Waiting, if not nil, is called when the server asks the client to wait. The queue position
	// counts from 1; 0 means unknown. Waiting is called again only when a value has changed.
	Waiting func(wait time.Duration, position int)
}

const defaultLimit = 10 * time.Minute

// An Exchange is a request and the stream of its reply.
type Exchange struct {
	conn    net.Conn
	cid     uint16
	request [][]byte
	timing  Timing
	limit   int64

	next     uint16            // number of the packet to deliver next
	total    uint16            // 0 until known
	early    map[uint16][]byte // payloads received out of order, by packet number
	ready    []byte            // unread payload of packet next-1; may alias packet
	received int64
	packet   [2048]byte
	retransmission
	err error
}

type retransmission struct {
	wait          time.Duration // between the last retransmission and the next
	retransmitAt  time.Time     // of the next retransmission
	deadline      time.Time     // when to give up
	requestedWait time.Duration // the last wait time requested by the server
	tries         int           // retransmissions since the last new packet
	lastWaiting   string        // last arguments of Timing.Waiting
}

// Start sends a request over a UDP connection and returns the exchange, from which the reply is read.
// A reply of more than limit bytes is an error. Datagrams of other exchanges are dropped. Reads end
// when the deadline of the connection is set to the past.
func Start(conn net.Conn, request []byte, limit int64, timing Timing) (*Exchange, error) {
	if timing.First == 0 {
		timing.First = 4 * time.Second
	}
	if timing.Tries == 0 {
		timing.Tries = 3
	}
	if timing.Limit == 0 {
		timing.Limit = defaultLimit
	}
	// Two equal bytes: servers on little-endian machines swap them.
	half := uint16(1 + rand.IntN(255))
	cid := half<<8 | half
	x := &Exchange{conn: conn, cid: cid, request: Packets(cid, request), timing: timing, limit: limit,
		next: 1, early: make(map[uint16][]byte)}
	x.deadline = time.Now().Add(timing.Limit)
	x.resetTimer()
	return x, x.send(x.request...)
}

func (x *Exchange) resetTimer() {
	x.wait, x.tries, x.requestedWait = x.timing.First, 0, 0
	x.retransmitAt = time.Now().Add(x.wait)
}

func (x *Exchange) send(packets ...[]byte) error {
	for _, p := range packets {
		if _, err := x.conn.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// Read implements io.Reader. It returns io.EOF when the last packet of the reply has been
// delivered.
func (x *Exchange) Read(p []byte) (int, error) {
	for len(x.ready) == 0 {
		if x.err == nil {
			x.err = x.advance()
		}
		if x.err != nil {
			x.ready = nil
			return 0, x.err
		}
	}
	n := copy(p, x.ready)
	x.ready = x.ready[n:]
	return n, nil
}

func (x *Exchange) advance() error {
	for {
		if data, ok := x.early[x.next]; ok {
			delete(x.early, x.next)
			x.next++
			x.ready = data
			x.deadline = time.Now().Add(x.timing.Limit)
			return nil
		}
		if x.total != 0 && x.next > x.total {
			return io.EOF
		}
		if err := x.receive(); err != nil || len(x.ready) > 0 {
			return err
		}
	}
}

func (x *Exchange) receive() error {
	deadline := x.retransmitAt
	if x.deadline.Before(deadline) {
		deadline = x.deadline
	}
	x.conn.SetReadDeadline(deadline)
	n, err := x.conn.Read(x.packet[:])
	x.conn.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && time.Until(deadline) < time.Millisecond:
		return x.retransmit(err)
	case err != nil:
		return err
	}
	h, payload, err := Parse(x.packet[:n])
	if err != nil || h.CID != x.cid && h.CID != 0 {
		return nil // of another exchange; version 1 servers reply with connection ID 0
	}
	switch {
	case h.Option == optionRefused:
		return ErrRefused
	case h.Option == optionRedirect, h.Option == optionRedirect+1:
		return fmt.Errorf("%w: redirect to another server", ErrRefused)
	}
	if h.Wait != 0 {
		x.requestedWait = time.Duration(h.Wait) * time.Second
		x.retransmitAt, x.tries = time.Now().Add(x.requestedWait), 0
		waiting := fmt.Sprint(h.Wait, h.Position)
		if x.timing.Waiting != nil && waiting != x.lastWaiting {
			x.lastWaiting = waiting
			x.timing.Waiting(x.requestedWait, int(h.Position))
		}
	}
	if h.Seq != 0 {
		if err := x.accept(h, payload); err != nil {
			return err
		}
	}
	if h.Flags&flagAcknowledge != 0 {
		return x.acknowledge()
	}
	return nil
}

// Only packets within two windows are stored. The payload of packet next becomes ready at once.
func (x *Exchange) accept(h Header, payload []byte) error {
	switch {
	case h.Total != 0 && x.total != 0 && h.Total != x.total:
		return fmt.Errorf("%w: the number of packets changed from %d to %d", ErrMalformed, x.total, h.Total)
	case h.Total != 0 && h.Total < x.highest():
		return fmt.Errorf("%w: packet %d of %d", ErrMalformed, x.highest(), h.Total)
	case h.Total != 0:
		x.total = h.Total
	case x.total != 0 && h.Seq > x.total:
		return fmt.Errorf("%w: packet %d of %d", ErrMalformed, h.Seq, x.total)
	}
	ahead := h.Seq - x.next
	if _, have := x.early[h.Seq]; have || h.Seq < x.next || ahead > 2*Window {
		return nil
	}
	if x.received += int64(len(payload)); x.received > x.limit {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLong, x.limit)
	}
	x.resetTimer()
	if h.Seq == x.next { // no copy: it is read before the next packet is received
		x.next++
		x.ready = payload
		x.deadline = time.Now().Add(x.timing.Limit)
		return nil
	}
	x.early[h.Seq] = bytes.Clone(payload)
	return nil
}

func (x *Exchange) highest() uint16 {
	highest := x.next - 1
	for seq := range x.early {
		highest = max(highest, seq)
	}
	return highest
}

// acknowledge sends the number of the last packet received in sequence, from which the server resumes.
func (x *Exchange) acknowledge() error {
	through := x.next - 1
	for {
		if _, ok := x.early[through+1]; !ok {
			break
		}
		through++
	}
	return x.send(Acknowledgement(x.cid, through))
}

// Once a packet has arrived, the acknowledgement is sent again instead of the request.
func (x *Exchange) retransmit(timeout error) error {
	over := !time.Now().Before(x.deadline)
	if x.tries++; over || x.tries > x.timing.Tries {
		switch {
		case over && x.requestedWait > 0:
			return fmt.Errorf("%w within %v: the server requested a wait of %v", ErrNoReply,
				x.timing.Limit, x.requestedWait)
		case x.next > 1 || len(x.early) > 0:
			return io.ErrUnexpectedEOF
		case over:
			return fmt.Errorf("%w within %v: %w", ErrNoReply, x.timing.Limit, timeout)
		}
		return fmt.Errorf("%w after %d retransmissions: %w", ErrNoReply, x.timing.Tries, timeout)
	}
	x.wait *= 2
	x.retransmitAt = time.Now().Add(x.wait)
	if x.next == 1 && len(x.early) == 0 {
		return x.send(x.request...)
	}
	return x.acknowledge()
}
