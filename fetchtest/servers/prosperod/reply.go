package prosperod

import (
	"cmp"
	"math"
	"net"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/ardp"
)

// A reply is the state of an exchange with a client.
type reply struct {
	cid            uint16
	parts          map[uint16][]byte // of a request with several packets
	requestPackets uint16            // number of packets of the request
	complete       bool              // the request is complete, and the fields below are set

	message        []byte
	failure        servers.Failure
	payload        int // bytes per packet
	packets        int // number of packets
	stop           int // number of packets to send
	dripped        int // packets below this number are being dripped
	waits          int // remaining wait packets; negative means no limit
	waiting        bool
	chatterStarted bool // chatter has started
}

// fill sets the packets of the reply.
func (r *reply) fill(message []byte, f servers.Failure) {
	r.complete, r.message, r.failure, r.payload = true, message, f, ardp.MaxPayload
	if f.Fault == servers.Split {
		r.payload = max(1, (len(message)+math.MaxUint16-1)/math.MaxUint16)
	}
	r.packets = max(1, (len(message)+r.payload-1)/r.payload)
	r.stop = r.packets
	if f.Fault == servers.None || f.Fault == servers.Split {
		return
	}
	at := f.Place(int64(len(message))) / int64(r.payload)
	switch f.Fault {
	case servers.Cut, servers.Stall, servers.Abort:
		r.stop = int(at)
	case servers.Short:
		r.packets = max(1, int(at))
		r.stop = r.packets
	case servers.Endless:
		r.stop = math.MaxUint16
	}
}

// packet returns packet i, counted from 0.
func (r *reply) packet(i int) []byte {
	total := 0
	if i+1 == r.packets && r.stop == r.packets {
		total = r.packets
	}
	from := i % max(1, (len(r.message)+r.payload-1)/r.payload) * r.payload
	return ardp.ReplyPacket(r.cid, uint16(i+1), uint16(total),
		r.message[from:min(len(r.message), from+r.payload)])
}

// send sends the packets after those received, up to the next one that requests an acknowledgment.
func (c *responder) send(to net.Addr, r *reply, received int) {
	last := min((received/ardp.Window+1)*ardp.Window, r.stop)
	if r.failure.Fault == servers.Drip {
		c.drip(to, r, received, last)
		return
	}
	for i := received; i < last; i++ {
		c.WriteTo(r.packet(i), to)
	}
	if last == r.stop && r.failure.Fault == servers.Stall {
		c.chatter(to, r)
	}
	if last == r.stop && r.failure.Fault == servers.Abort {
		c.WriteTo(ardp.Refusal(r.cid), to)
	}
}

// drip sends each packet once, with pauses.
func (c *responder) drip(to net.Addr, r *reply, from, last int) {
	from = max(from, r.dripped)
	if from >= last {
		return
	}
	r.dripped = last
	packets := make([][]byte, 0, last-from)
	for i := from; i < last; i++ {
		packets = append(packets, r.packet(i))
	}
	c.runEvery(cmp.Or(r.failure.Every, 50*time.Millisecond), func() bool {
		c.WriteTo(packets[0], to)
		packets = packets[1:]
		return len(packets) > 0
	})
}

// runEvery calls f at intervals of d until it returns false or the server is closed.
func (c *responder) runEvery(d time.Duration, f func() (more bool)) {
	c.wg.Go(func() {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if !f() {
					return
				}
			case <-c.Done():
				return
			}
		}
	})
}

// wait sends wait packets, and then the reply.
func (c *responder) wait(to net.Addr, r *reply) {
	q := c.s.opts.Queue
	if r.waiting {
		return
	}
	sendWait := func() bool {
		if r.waits == 0 {
			c.send(to, r, 0)
			return false
		}
		r.waits = max(r.waits-1, -1)
		seconds := uint16(min(q.Wait/time.Second, math.MaxUint16))
		packet := ardp.WaitPacket(r.cid, seconds)
		if q.Position > 0 {
			packet = ardp.QueuePacket(r.cid, seconds, q.Position)
		}
		c.WriteTo(packet, to)
		return true
	}
	sendWait()
	if q.Every == 0 {
		return
	}
	r.waiting = true
	c.runEvery(q.Every, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return sendWait()
	})
}

// chatter starts the packets that are sent after a stall.
func (c *responder) chatter(to net.Addr, r *reply) {
	chatter := c.s.opts.Chatter
	if chatter.Every == 0 || r.chatterStarted {
		return
	}
	r.chatterStarted = true
	var lastPacket []byte
	if chatter.Repeat && r.stop > 0 {
		lastPacket = r.packet(r.stop - 1)
	}
	c.runEvery(chatter.Every, func() bool {
		if chatter.Garbage {
			c.WriteTo([]byte("\xff\x00 no packet"), to)
		}
		if lastPacket != nil {
			c.WriteTo(lastPacket, to)
		}
		return true
	})
}
