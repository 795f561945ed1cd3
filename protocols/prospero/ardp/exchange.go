package ardp

import (
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
	ErrNoAnswer = errors.New("no answer")
	ErrRefused  = errors.New("the server refuses the request")
	ErrTooLong  = errors.New("reply too long")
)

// Timing says how long to wait. The zero value is what the protocol's authors
// chose.
type Timing struct {
	First time.Duration // before the first repetition, doubled for each; 0 means 4 s
	Tries int           // repetitions before giving up; 0 means 3
}

// maxServerWait bounds how long a server may ask to be waited for.
const maxServerWait = 10 * time.Minute

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
	ready    []byte            // what is not yet read of packet next-1
	received int64
	packet   [2048]byte
	wait     time.Duration // before the next repetition
	repeated int           // times since something new came
	err      error
}

// Start sends a request over a UDP connection and returns the stream of the
// reply, at most limit octets of it. Datagrams of other exchanges are dropped.
// Reads end when the connection's deadline is moved to the past.
func Start(conn net.Conn, request []byte, limit int64, timing Timing) (*Exchange, error) {
	if timing.First == 0 {
		timing.First = 4 * time.Second
	}
	if timing.Tries == 0 {
		timing.Tries = 3
	}
	// Two equal octets: servers on little-endian machines swap them.
	octet := uint16(1 + rand.IntN(255))
	cid := octet<<8 | octet
	x := &Exchange{conn: conn, cid: cid, request: Packets(cid, request), timing: timing, limit: limit,
		next: 1, early: make(map[uint16][]byte), wait: timing.First}
	return x, x.send(x.request...)
}

func (x *Exchange) send(packets ...[]byte) error {
	for _, p := range packets {
		if _, err := x.conn.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// Read implements io.Reader. It returns io.EOF when the last packet of the
// reply has been delivered.
func (x *Exchange) Read(p []byte) (int, error) {
	for len(x.ready) == 0 {
		if x.err == nil {
			x.err = x.advance()
		}
		if x.err != nil {
			return 0, x.err
		}
	}
	n := copy(p, x.ready)
	x.ready = x.ready[n:]
	return n, nil
}

// advance makes the next packet ready, from those that came early or from the
// network.
func (x *Exchange) advance() error {
	for {
		if data, ok := x.early[x.next]; ok {
			delete(x.early, x.next)
			x.next++
			x.ready = data
			return nil
		}
		if x.total != 0 && x.next > x.total {
			return io.EOF
		}
		if err := x.receive(); err != nil {
			return err
		}
	}
}

// receive takes one datagram, or repeats what may have been lost.
func (x *Exchange) receive() error {
	x.conn.SetReadDeadline(time.Now().Add(x.wait))
	n, err := x.conn.Read(x.packet[:])
	x.conn.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
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
		x.wait = min(time.Duration(h.Wait)*time.Second, maxServerWait)
		x.repeated = 0
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

// accept keeps the payload of a packet, if it is new and not far ahead.
func (x *Exchange) accept(h Header, payload []byte) error {
	if h.Total != 0 {
		x.total = h.Total
	}
	ahead := h.Seq - x.next
	if _, have := x.early[h.Seq]; have || h.Seq < x.next || ahead > 2*Window {
		return nil
	}
	if x.received += int64(len(payload)); x.received > x.limit {
		return fmt.Errorf("%w: more than %d octets", ErrTooLong, x.limit)
	}
	x.early[h.Seq] = append([]byte(nil), payload...)
	x.wait, x.repeated = x.timing.First, 0
	return nil
}

// acknowledge tells what arrived without a gap, from which the server sees
// what to send again.
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

// repeat asks again after a silence: by the request if nothing has come yet,
// else by an acknowledgement.
func (x *Exchange) repeat(silence error) error {
	if x.repeated++; x.repeated > x.timing.Tries {
		if x.next == 1 && len(x.early) == 0 {
			return fmt.Errorf("%w after %d repetitions: %w", ErrNoAnswer, x.timing.Tries, silence)
		}
		return io.ErrUnexpectedEOF
	}
	x.wait = min(2*x.wait, maxServerWait)
	if x.next == 1 && len(x.early) == 0 {
		return x.send(x.request...)
	}
	return x.acknowledge()
}
