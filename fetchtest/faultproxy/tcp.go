package faultproxy

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
)

const (
	chopLen      = 512 // largest piece of Chop
	duplicateLen = 16  // number of bytes that Duplicate repeats
)

// errFault ends a link after its fault.
var errFault = errors.New("faultproxy: fault")

// dialTCP connects to addr and returns the client's end of the link.
func (p *Proxy) dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	server, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	client, inner, err := tcpPair(ctx)
	if err != nil {
		server.Close()
		return nil, err
	}
	if err := p.relay(inner, server.(*net.TCPConn), nil); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// relay starts to relay a connection. The function rewrite, if not nil, returns the data to relay
// instead of the server's; it is called without data at the end.
func (p *Proxy) relay(client, server *net.TCPConn, rewrite func([]byte) []byte) error {
	l, err := p.link(client, server)
	if err != nil {
		return err
	}
	s := &stream{link: l, client: client, server: server, rewrite: rewrite, quit: make(chan struct{})}
	p.wg.Go(s.up)
	p.wg.Go(s.down)
	return nil
}

// tcpPair returns the two ends of a connection over the loopback interface.
func tcpPair(ctx context.Context) (outer, inner *net.TCPConn, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	for {
		s, err := listener.Accept()
		if err != nil {
			c.Close()
			return nil, nil, err
		}
		if s.RemoteAddr().String() == c.LocalAddr().String() {
			return c.(*net.TCPConn), s.(*net.TCPConn), nil
		}
		s.Close() // a connection from another program
	}
}

// A stream is a TCP connection through the proxy.
type stream struct {
	*link
	client, server *net.TCPConn
	rewrite        func([]byte) []byte
	quit           chan struct{} // closed when the client stops sending
	halfClosed     bool          // HalfClose has occurred
}

// up relays the client's data.
func (s *stream) up() {
	defer close(s.quit)
	buf := make([]byte, 32<<10)
	for {
		n, err := s.client.Read(buf)
		if n > 0 && s.write(s.server, buf[:n]) != nil {
			s.end()
			return
		}
		switch {
		case err == io.EOF:
			s.server.CloseWrite()
			return // down ends the link
		case err != nil:
			s.end()
			return
		}
	}
}

// down relays the server's data with the fault.
func (s *stream) down() {
	defer s.end()
	buf := make([]byte, 32<<10)
	for {
		n, err := s.server.Read(buf)
		b := buf[:n]
		if s.rewrite != nil {
			b = s.rewrite(b)
		}
		if len(b) > 0 && s.disturb(b) != nil {
			return
		}
		switch {
		case err == io.EOF:
			s.client.CloseWrite()
			return
		case err != nil:
			s.client.SetLinger(0)
			return
		}
	}
}

// disturb relays b to the client, with the fault if it is due.
func (s *stream) disturb(b []byte) error {
	at := s.due(len(b))
	if s.halfClosed {
		return nil
	}
	if at < 0 || s.fault.Kind == Delay || s.fault.Kind == Chop {
		return s.write(s.client, b)
	}
	switch s.fault.Kind {
	case Flip:
		b[at] ^= 2
		return s.write(s.client, b)
	case Duplicate:
		again := b[at:min(len(b), at+duplicateLen)]
		return errors.Join(s.write(s.client, b[:at]), s.write(s.client, again), s.write(s.client, b[at:]))
	}
	if err := s.write(s.client, b[:at]); err != nil {
		return err
	}
	switch s.fault.Kind {
	case Stall:
		select {
		case <-s.ended:
		case <-s.quit:
		}
	case HalfClose:
		s.halfClosed = true
		return s.client.CloseWrite()
	case Reset:
		s.client.SetLinger(0)
	}
	return errFault
}

// write writes b with the delay and in the pieces of the fault.
func (s *stream) write(to *net.TCPConn, b []byte) error {
	switch s.fault.Kind {
	case Delay:
		if !s.pause() {
			return errFault
		}
	case Chop:
		for len(b) > 1 {
			n := 1 + rand.IntN(min(chopLen, len(b)-1))
			if _, err := to.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
	}
	_, err := to.Write(b)
	return err
}
