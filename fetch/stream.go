package fetch

import (
	"crypto/tls"
	"net"
)

// Taps adjust the recording of a connection that other code reads and writes.
type Taps struct {
	// Mask, if not nil, returns what to record in place of the bytes sent.
	Mask func(p []byte) []byte
	// Received, if not nil, is called with the bytes received.
	Received func(p []byte)
}

// record adds the connection to r, if it is not part of it. If r is nil, the connection is no
// longer recorded.
func (c *Conn) record(r *recording, taps Taps) *stream {
	s := c.rec.Load()
	switch {
	case r == nil:
		s = nil
		c.rec.Store(s)
	case s == nil || s.recording != r:
		n, fresh := r.number(c)
		s = &stream{recording: r, conn: n, taps: taps}
		c.rec.Store(s)
		if fresh {
			s.peer(c.RemoteAddr(), c.TLS())
		}
	}
	return s
}

type stream struct {
	*recording
	conn int
	taps Taps
}

func (s *stream) peer(addr net.Addr, state *tls.ConnectionState) {
	if s != nil && s.Peer != nil {
		s.Peer(s.conn, addr, state)
	}
}

func (s *stream) sent(p []byte) {
	if s == nil || s.Sent == nil {
		return
	}
	if s.taps.Mask != nil {
		p = s.taps.Mask(p)
	}
	if len(p) > 0 {
		s.Sent(s.conn, p)
	}
}

func (s *stream) received(p []byte) {
	if s == nil {
		return
	}
	if s.taps.Received != nil {
		s.taps.Received(p)
	}
	if s.Received != nil {
		s.Received(s.conn, p)
	}
}

func (s *stream) wantsBytes() bool { return s != nil && s.Received != nil }
