package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/urlget/urlget/internal/wire"
)

// Dial connects to addr, "host:port", under the client's policy, proxy and
// connect timeout. ctx governs the dial only. The connection enforces the
// idle timeout on each read and write; see Bind for contexts.
//
// If the request goes through a tunnelling proxy, the proxy is given the host
// as named here, and RemoteAddr of the connection is that name.
func (e *Env) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return e.dial(ctx, network, addr, 0)
}

// DialFrom is Dial from a given local port, for protocols that tell trust by
// it (RFC 1282). It fails if the port is in use or reserved to others.
func (e *Env) DialFrom(ctx context.Context, network, addr string, localPort uint16) (net.Conn, error) {
	return e.dial(ctx, network, addr, localPort)
}

// DialPeer connects to another port of the host that conn is connected to,
// whatever address the server may have named: FTP data connections must not
// lead elsewhere. Reserved ports are refused.
func (e *Env) DialPeer(ctx context.Context, conn net.Conn, port uint16) (net.Conn, error) {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	if port < 1024 {
		return nil, refusal("the server named reserved port %d for data", port)
	}
	return e.dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))), 0)
}

// ListenPeer waits for connections from the host that conn is connected to,
// on the local address of conn, as active FTP needs. It is refused behind a
// proxy. Connections from other hosts are closed unread.
func (e *Env) ListenPeer(ctx context.Context, conn net.Conn) (net.Listener, error) {
	if !provenanceOf(ctx).proxy.url.IsZero() {
		return nil, refusal("a server cannot connect back through a proxy")
	}
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return nil, err
	}
	peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", netip.AddrPortFrom(local.Addr(), 0).String())
	if err != nil {
		return nil, err
	}
	return &peerListener{Listener: l, peer: peer.Addr().Unmap(), idle: e.client.timeouts.Idle}, nil
}

type peerListener struct {
	net.Listener
	peer netip.Addr
	idle time.Duration
}

func (l *peerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, err := netip.ParseAddrPort(c.RemoteAddr().String())
		if err == nil && from.Addr().Unmap() == l.peer {
			return wire.NewConn(c, l.idle), nil
		}
		c.Close()
	}
}

func (e *Env) dial(ctx context.Context, network, addr string, localPort uint16) (net.Conn, error) {
	ctx, cancel := e.connectContext(ctx)
	defer cancel()
	var (
		c   net.Conn
		err error
	)
	if prov := provenanceOf(ctx); prov.proxy.url.IsZero() {
		c, err = e.dialDirect(ctx, prov, network, addr, localPort)
	} else if prov.proxy.relay {
		// The driver connects to the proxy, which the user chose.
		c, err = e.dialDirect(ctx, &provenance{}, network, addr, localPort)
	} else {
		c, err = e.dialTunnel(ctx, prov.proxy.url, network, addr)
	}
	if err != nil {
		return nil, dialError(ctx, err)
	}
	return wire.NewConn(c, e.client.timeouts.Idle), nil
}

// connectContext bounds ctx by the connect timeout.
func (e *Env) connectContext(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := e.client.timeouts.Connect
	if limit == 0 {
		return ctx, func() {}
	}
	cause := &Error{Code: ErrNetwork, Retry: true, Err: fmt.Errorf("no connection within %v", limit)}
	return context.WithTimeoutCause(ctx, limit, cause)
}

// dialError chooses the words for a failed dial: why the context ended, or
// which rule refused, before what the sockets say.
func dialError(ctx context.Context, err error) error {
	var own *Error
	switch {
	case errors.As(err, &own):
		return own
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Error{Code: ErrNetwork, Err: err}
	}
	if code, retry := classify(err); code == ErrNetwork {
		return &Error{Code: code, Retry: retry, Err: err} // drivers need not tell it from what servers do
	}
	return err
}

func (e *Env) dialDirect(ctx context.Context, prov *provenance, network, addr string, localPort uint16) (net.Conn, error) {
	opts, policy := &e.client.opts, e.client.policy
	target := addr
	if ip, ok := opts.Network.Hosts[addr]; ok {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		target = net.JoinHostPort(ip.String(), port)
	}
	switch opts.Network.Family {
	case 4, 6:
		network += strconv.Itoa(opts.Network.Family)
	}
	var c net.Conn
	var err error
	if opts.DialContext != nil {
		c, err = opts.DialContext(ctx, network, target)
		if err == nil {
			if peer, perr := netip.ParseAddrPort(c.RemoteAddr().String()); perr == nil {
				err = policy.checkAddr(prov, peer)
			}
			if err != nil {
				c.Close()
			}
		}
	} else {
		d := net.Dialer{
			LocalAddr: localAddr(network, opts.Network.Local, localPort),
			ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
				peer, err := netip.ParseAddrPort(address)
				if err != nil {
					return err
				}
				return policy.checkAddr(prov, peer)
			},
		}
		c, err = d.DialContext(ctx, network, target)
	}
	if err != nil {
		return nil, err
	}
	e.client.learn(addr, c.RemoteAddr())
	return c, nil
}

// localAddr returns the address to connect from, nil for any.
func localAddr(network string, ip netip.Addr, port uint16) net.Addr {
	if !ip.IsValid() && port == 0 {
		return nil
	}
	if network[:3] == "udp" {
		return &net.UDPAddr{IP: ip.AsSlice(), Port: int(port), Zone: ip.Zone()}
	}
	return &net.TCPAddr{IP: ip.AsSlice(), Port: int(port), Zone: ip.Zone()}
}
