package driver

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"

	"github.com/urlget/urlget/fetch/internal/exchange"
)

// A Recording records an exchange, for drivers whose messages are not the bytes of a [Conn], such
// as those that multiplex or encrypt them. Any function may be nil. Secrets must be masked.
type Recording struct {
	// Peer is called when a new or reused connection starts to serve the exchange, and again when
	// TLS starts on it. Connections are numbered from 1; see [Conn.Record].
	Peer func(conn int, addr net.Addr, state *tls.ConnectionState)
	// Lookup is called with the addresses that were found for a host.
	Lookup func(host string, addrs []netip.Addr)
	// Sent and Received are called with the bytes on a connection; Sent before they are written.
	Sent     func(conn int, p []byte)
	Received func(conn int, p []byte)
	// Line is called with each command and reply, without its line ending.
	Line func(sent bool, line string)
	// Request is called before each request of HTTP is sent.
	Request func(*Variant)
}

// Record returns the recording of the exchange of ctx, or nil if the exchange is not recorded.
func Record(ctx context.Context) *Recording {
	if r := recordingOf(ctx); r != nil {
		return (*Recording)(&r.Hooks)
	}
	return nil
}

// Line returns a function to be called with the lines of the conversation, for drivers without a
// Conn, or nil if they are not recorded. Secrets in the lines must be masked.
func Line(ctx context.Context) func(sent bool, line string) {
	if r := recordingOf(ctx); r != nil {
		return r.Line
	}
	return nil
}

func recordingOf(ctx context.Context) *exchange.Recording {
	if x := exchange.Of(ctx); x != nil {
		return x.Recording()
	}
	return nil
}

// Taps adjust the recording of a connection that other code reads and writes.
type Taps struct {
	// Mask, if not nil, returns what to record in place of the bytes sent.
	Mask func(p []byte) []byte
	// Received, if not nil, is called with the bytes received.
	Received func(p []byte)
}

// record adds the connection to r, if it is not part of it. If r is nil, the connection is no
// longer recorded.
func (c *Conn) record(r *exchange.Recording, taps Taps) *stream {
	s := c.rec.Load()
	switch {
	case r == nil:
		s = nil
		c.rec.Store(s)
	case s == nil || s.Recording != r:
		n, fresh := r.Number(c)
		s = &stream{Recording: r, conn: n, taps: taps}
		c.rec.Store(s)
		if fresh {
			s.peer(c.RemoteAddr(), c.TLS())
		}
	}
	return s
}

// A stream is the part of a recording that belongs to one connection.
type stream struct {
	*exchange.Recording
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

// wantsBytes reports whether all received bytes must be recorded.
func (s *stream) wantsBytes() bool { return s != nil && s.Received != nil }
