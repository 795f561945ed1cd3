package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Dial implements Env.
func (e *env) Dial(ctx context.Context, network, addr string) (*Conn, error) {
	return e.dial(ctx, network, addr, 0)
}

// DialFrom implements Env.
func (e *env) DialFrom(ctx context.Context, network, addr string, localPort uint16) (*Conn, error) {
	return e.dial(ctx, network, addr, localPort)
}

// DialPeer implements Env.
func (e *env) DialPeer(ctx context.Context, conn *Conn, port uint16) (*Conn, error) {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	if port < 1024 {
		return nil, refusal(Reason{Kind: ReasonPort, Port: port},
			"the server named reserved port %d for data", port)
	}
	return e.dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))), 0)
}

// ListenPeer implements Env.
func (e *env) ListenPeer(ctx context.Context, conn *Conn) (PeerListener, error) {
	if !provenanceOf(ctx).proxy.url.IsZero() {
		return nil, refusal(Reason{Kind: ReasonProxy}, "a server cannot connect back through a proxy")
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
	return &peerListener{ctx: ctx, l: l, peer: peer.Addr().Unmap(), timeouts: e.client.timeouts}, nil
}

type peerListener struct {
	l        net.Listener
	peer     netip.Addr
	timeouts Timeouts
	ctx      context.Context // of the exchange
}

// Accept implements PeerListener.
func (l *peerListener) Accept() (*Conn, error) {
	for {
		c, err := l.l.Accept()
		if err != nil {
			return nil, err
		}
		from, err := netip.ParseAddrPort(c.RemoteAddr().String())
		if err == nil && from.Addr().Unmap() == l.peer {
			return NewConn(l.ctx, c, l.timeouts), nil
		}
		c.Close()
	}
}

// Addr implements PeerListener.
func (l *peerListener) Addr() net.Addr { return l.l.Addr() }

// Close implements PeerListener.
func (l *peerListener) Close() error { return l.l.Close() }

func (e *env) dial(ctx context.Context, network, addr string, localPort uint16) (*Conn, error) {
	dialCtx, cancel := e.connectContext(ctx, "no connection within %v")
	defer cancel()
	var (
		c   net.Conn
		err error
	)
	prov := provenanceOf(ctx)
	if prov.proxy.url.IsZero() {
		if c, err = e.dialDirect(dialCtx, prov, network, addr, localPort); err == nil {
			e.client.recordPlace(addr, placeOf(c.RemoteAddr()))
		}
	} else if prov.proxy.forward {
		// The driver connects to the proxy itself, which the user chose.
		c, err = e.dialDirect(dialCtx, &provenance{}, network, addr, localPort)
	} else {
		c, err = e.dialTunnel(dialCtx, prov.proxy.url, network, addr)
	}
	if err != nil {
		return nil, dialError(dialCtx, err)
	}
	return NewConn(ctx, c, e.client.timeouts), nil
}

// connectContext adds the connect timeout to ctx. The timeout's error is words, formatted with the
// limit.
func (e *env) connectContext(ctx context.Context, format string) (context.Context, context.CancelFunc) {
	limit := e.client.timeouts.Connect
	if limit == 0 {
		return ctx, func() {}
	}
	cause := &Error{Code: ErrNetwork, Retry: true, Err: fmt.Errorf(format, limit)}
	return context.WithTimeoutCause(ctx, limit, cause)
}

// dialError returns the best explanation for a failed dial: the cause of the end of ctx or the rule
// that refused it, in preference to the error of a socket.
func dialError(ctx context.Context, err error) error {
	switch fetchErr, ok := errors.AsType[*Error](err); {
	case ok:
		return fetchErr
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		if end, ok := ctx.Deadline(); ok && time.Until(end) < 100*time.Millisecond {
			<-ctx.Done() // the socket's deadline fired just before that of ctx
			return context.Cause(ctx)
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Error{Code: ErrNetwork, Err: err}
	}
	if code, retry := Classify(err); code == ErrNetwork {
		// so that drivers need not distinguish it from errors of servers
		return &Error{Code: code, Retry: retry, Err: err}
	}
	return err
}

func (e *env) dialDirect(ctx context.Context, prov *provenance, network, addr string,
	localPort uint16) (net.Conn, error) {
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
		lookup, ctx := newLookup(ctx, target)
		d := net.Dialer{
			LocalAddr: localAddr(network, opts.Network.Local, localPort),
			ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
				lookup.addressFound()
				peer, err := netip.ParseAddrPort(address)
				if err != nil {
					return err
				}
				return policy.checkAddr(prov, peer)
			},
		}
		ctx = lookup.withTrace(ctx, provenanceOf(ctx).recording)
		if lookup.host == "" || network[:3] != "tcp" || localPort != 0 {
			c, err = d.DialContext(ctx, network, target) // one address, or one after the other
		} else {
			c, err = dialFirst(ctx, familyOf(network, opts.Network.Local), target,
				func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
					return d.DialContext(ctx, network, addr.String())
				})
		}
		err = lookup.explain(err)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// familyOf restricts network to the family of the local address, if there is one.
func familyOf(network string, local netip.Addr) string {
	switch {
	case !local.IsValid() || network != "tcp":
		return network
	case local.Unmap().Is4():
		return "tcp4"
	}
	return "tcp6"
}

func localAddr(network string, ip netip.Addr, port uint16) net.Addr {
	if !ip.IsValid() && port == 0 {
		return nil
	}
	if network[:3] == "udp" {
		return &net.UDPAddr{IP: ip.AsSlice(), Port: int(port), Zone: ip.Zone()}
	}
	return &net.TCPAddr{IP: ip.AsSlice(), Port: int(port), Zone: ip.Zone()}
}
