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
	ErrNoReply = errors.New("no answer")
	ErrRefused = errors.New("the server refuses the request")
	ErrTooLong = errors.New("reply too long")
)

// Timing says how long to wait. The zero value is what the protocol's authors chose.
type Timing struct {
	First time.Duration // before the first repetition, doubled for each; 0 means 4 s
	Tries int           // repetitions before giving up; 0 means 3
	// Limit bounds the wait for the next packet of the reply in order, whatever else comes
	// meanwhile: also a server's request to wait longer. 0 means ten minutes.
	Limit time.Duration
	// Waiting, if not nil, is called when the server asks to wait, with the place in its queue from
	// 1, or 0 if it does not tell. It is called again only when either has changed.
	Waiting func(wait time.Duration, position int)
}

// defaultLimit is what Timing.Limit 0 means.
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
	early    map[uint16][]byte // packets that came before their turn
	ready    []byte            // what is not yet read of packet next-1; it may be a part of packet
	received int64
	packet   [2048]byte
	repetition
	err error
}

// A repetition is when to send again what may have been lost.
type repetition struct {
	wait     time.Duration // between the last repetition and the next
	due      time.Time     // of the next repetition
	until    time.Time     // when to give up
	asked    time.Duration // what the server asked to be waited for, at last
	repeated int           // times since something new came
	told     string        // to Timing.Waiting, at last
}

// Start sends a request over a UDP connection and returns the stream of the reply, at most limit
// bytes of it. Datagrams of other exchanges are dropped. Reads end when the connection's deadline
// is moved to the past.
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
	x.until = time.Now().Add(timing.Limit)
	x.heard()
	return x, x.send(x.request...)
}

// heard starts the wait for a repetition anew.
func (x *Exchange) heard() {
	x.wait, x.repeated, x.asked = x.timing.First, 0, 0
	x.due = time.Now().Add(x.wait)
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

// advance makes the next packet ready, from those that came early or from the network.
func (x *Exchange) advance() error {
	for {
		if data, ok := x.early[x.next]; ok {
			delete(x.early, x.next)
			x.next++
			x.ready = data
			x.until = time.Now().Add(x.timing.Limit)
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

// receive takes one datagram, or repeats what may have been lost.
func (x *Exchange) receive() error {
	deadline := x.due
	if x.until.Before(deadline) {
		deadline = x.until
	}
	x.conn.SetReadDeadline(deadline)
	n, err := x.conn.Read(x.packet[:])
	x.conn.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && time.Until(deadline) < time.Millisecond:
		return x.repeat(err)
	case err != nil:
		return err
	}
	h, payload, err := Parse(x.packet[:n])
	if err != nil || h.CID != x.cid && h.CID != 0 {
		return nil // not of this exchange; servers of version 1 answer with 0
	}
	switch {
	case h.Option == OptionRefused:
		return ErrRefused
	case h.Option == OptionRedirect, h.Option == OptionRedirect+1:
		return fmt.Errorf("%w: it names another server", ErrRefused)
	}
	if h.Wait != 0 {
		x.asked = time.Duration(h.Wait) * time.Second
		x.due, x.repeated = time.Now().Add(x.asked), 0
		told := fmt.Sprint(h.Wait, h.Position)
		if x.timing.Waiting != nil && told != x.told {
			x.told = told
			x.timing.Waiting(x.asked, int(h.Position))
		}
	}
	if h.Seq != 0 {
		if err := x.accept(h, payload); err != nil {
			return err
		}
	}
	if h.Flags&FlagAcknowledge != 0 {
		return x.acknowledge()
	}
	return nil
}

// accept keeps the payload of a packet, if it is new and not far ahead. That of the next packet is
// ready at once.
func (x *Exchange) accept(h Header, payload []byte) error {
	switch {
	case h.Total != 0 && x.total != 0 && h.Total != x.total:
		return fmt.Errorf("%w: first %d packets were announced, then %d", ErrMalformed, x.total, h.Total)
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
	x.heard()
	if h.Seq == x.next { // it is read before the next packet is received
		x.next++
		x.ready = payload
		x.until = time.Now().Add(x.timing.Limit)
		return nil
	}
	x.early[h.Seq] = bytes.Clone(payload)
	return nil
}

// highest returns the highest number of a packet that has come.
func (x *Exchange) highest() uint16 {
	highest := x.next - 1
	for seq := range x.early {
		highest = max(highest, seq)
	}
	return highest
}

// acknowledge tells what arrived without a gap, from which the server sees what to send again.
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

// repeat asks again after a silence: by the request if nothing has come yet, else by an
// acknowledgement.
func (x *Exchange) repeat(silence error) error {
	over := !time.Now().Before(x.until)
	if x.repeated++; over || x.repeated > x.timing.Tries {
		switch {
		case over && x.asked > 0:
			return fmt.Errorf("%w within %v: the server asks to wait %v", ErrNoReply, x.timing.Limit, x.asked)
		case x.next > 1 || len(x.early) > 0:
			return io.ErrUnexpectedEOF
		case over:
			return fmt.Errorf("%w within %v: %w", ErrNoReply, x.timing.Limit, silence)
		}
		return fmt.Errorf("%w after %d repetitions: %w", ErrNoReply, x.timing.Tries, silence)
	}
	x.wait *= 2
	x.due = time.Now().Add(x.wait)
	if x.next == 1 && len(x.early) == 0 {
		return x.send(x.request...)
	}
	return x.acknowledge()
}
