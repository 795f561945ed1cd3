package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
)

// DialDatagrams implements Env.
func (e *env) DialDatagrams(ctx context.Context, addr string, stray []byte) (*Conn, error) {
	prov := provenanceOf(ctx)
	if !prov.proxy.url.IsZero() {
		return nil, refusal(Reason{Kind: ReasonProxy}, "the proxy does not support datagrams")
	}
	listen := e.client.opts.ListenPacket
	if listen == nil {
		if e.client.opts.DialContext != nil {
			return nil, ErrNotRetrievable.Errorf(
				"datagrams require Options.ListenPacket if Options.DialContext is set")
		}
		listen = new(net.ListenConfig).ListenPacket
	}
	dialCtx, cancel := e.connectContext(ctx, "no connection within %v")
	defer cancel()
	// A connected socket shows which address of the host is allowed and reachable, and the local
	// address to use.
	probe, err := e.dialDirect(dialCtx, prov, "udp", addr, 0)
	if err != nil {
		return nil, dialError(dialCtx, err)
	}
	local, lerr := netip.ParseAddrPort(probe.LocalAddr().String())
	remote, rerr := netip.ParseAddrPort(probe.RemoteAddr().String())
	probe.Close()
	if err := errors.Join(lerr, rerr); err != nil {
		return nil, err
	}
	e.client.recordPlace(addr, placeOf(net.UDPAddrFromAddrPort(remote)))
	socket, err := listen(dialCtx, "udp", netip.AddrPortFrom(local.Addr(), 0).String())
	if err != nil {
		return nil, dialError(dialCtx, err)
	}
	d := &datagrams{PacketConn: socket, server: remote, stray: stray}
	d.peer.Store(&remote)
	return NewConn(ctx, d, e.client.timeouts), nil
}

// datagrams is a connection to a single host over an unconnected UDP socket.
type datagrams struct {
	net.PacketConn
	server netip.AddrPort
	peer   atomic.Pointer[netip.AddrPort] // destination of datagrams
	// peer has the port of the host's first reply; used by the reader only
	pinned bool
	stray  []byte
}

// Read implements net.Conn.
func (d *datagrams) Read(p []byte) (int, error) {
	for {
		n, addr, err := d.ReadFrom(p)
		if err != nil {
			return n, err
		}
		from, err := netip.ParseAddrPort(addr.String())
		if err != nil || from.Addr().Unmap() != d.server.Addr().Unmap() {
			continue
		}
		switch {
		case !d.pinned && (from.Port() >= 1024 || from.Port() == d.server.Port()):
			d.pinned = true
			pin := netip.AddrPortFrom(d.server.Addr(), from.Port())
			d.peer.Store(&pin)
			return n, nil
		case !d.pinned:
		case from.Port() == d.peer.Load().Port():
			return n, nil
		case len(d.stray) > 0:
			d.WriteTo(d.stray, addr) // best effort
		}
	}
}

// Write implements net.Conn.
func (d *datagrams) Write(p []byte) (int, error) { return d.WriteTo(p, d.RemoteAddr()) }

// RemoteAddr implements net.Conn.
func (d *datagrams) RemoteAddr() net.Addr { return net.UDPAddrFromAddrPort(*d.peer.Load()) }

var _ net.Conn = (*datagrams)(nil)
