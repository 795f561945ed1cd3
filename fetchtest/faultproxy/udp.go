package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"net"
)

// dialUDP connects to addr through a socket of the proxy.
func (p *Proxy) dialUDP(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	server, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	front, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		server.Close()
		return nil, err
	}
	client, err := d.DialContext(ctx, "udp", front.LocalAddr().String())
	if err != nil {
		server.Close()
		front.Close()
		return nil, err
	}
	l, err := p.link(front, server)
	if err != nil {
		client.Close()
		return nil, err
	}
	g := &datagrams{link: l, front: front, client: client.LocalAddr(), server: server}
	p.wg.Go(g.up)
	p.wg.Go(g.down)
	return &udpConn{client, l}, nil
}

// A udpConn closes its link too, because UDP does not report Close to the other side.
type udpConn struct {
	net.Conn
	link *link
}

func (c *udpConn) Close() error {
	err := c.Conn.Close()
	c.link.end()
	return err
}

// datagrams relays one UDP conversation.
type datagrams struct {
	*link
	front      net.PacketConn
	client     net.Addr
	server     net.Conn
	halfClosed bool   // nothing more reaches the client
	held       []byte // datagram to send after the next one
}

func (g *datagrams) up() {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := g.front.ReadFrom(buf)
		if err != nil {
			return
		}
		if from.String() != g.client.String() || g.fault.Kind == Delay && !g.pause() {
			continue
		}
		g.server.Write(buf[:n]) // a datagram that cannot be sent is lost
	}
}

func (g *datagrams) down() {
	buf := make([]byte, 64<<10)
	for {
		n, err := g.server.Read(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the server's port is closed for now
		}
		for _, b := range g.disturb(buf[:n]) {
			g.front.WriteTo(b, g.client)
		}
	}
}

// disturb returns the datagrams to send instead of b.
func (g *datagrams) disturb(b []byte) [][]byte {
	at := g.due(len(b))
	if g.fault.Kind == Delay && !g.pause() || g.halfClosed {
		return nil
	}
	if at < 0 {
		held := g.held
		g.held = nil
		if held == nil {
			return [][]byte{b}
		}
		return [][]byte{b, held}
	}
	switch g.fault.Kind {
	case Chop:
		g.held = bytes.Clone(b)
		return nil
	case Stall, HalfClose:
		g.halfClosed = true
		return nil
	case Cut:
		return nil
	case Reset:
		g.halfClosed = true
		g.front.Close()
		return nil
	case Flip:
		b[at] ^= 2
	case Duplicate:
		return [][]byte{b, b}
	}
	return [][]byte{b}
}
