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

// Dial connects to addr, "host:port", under the client's policy, proxy and connect timeout. Ctx
// governs only the dial; see Conn.Bind. The connection enforces the idle timeout on each read and
// write.
//
// With a tunnelling proxy, the proxy resolves the host, and RemoteAddr of the connection is its
// name.
func (e *Env) Dial(ctx context.Context, network, addr string) (*Conn, error) {
	return e.dial(ctx, network, addr, 0)
}

// DialFrom is Dial from a given local port, for protocols that base trust on it (RFC 1282). It
// fails if the port is in use or requires privileges.
func (e *Env) DialFrom(ctx context.Context, network, addr string, localPort uint16) (*Conn, error) {
	return e.dial(ctx, network, addr, localPort)
}

// DialPeer connects to another port of the host that conn is connected to, whatever address the
// server may have named, so that FTP data connections cannot be directed elsewhere. Reserved ports
// are refused.
func (e *Env) DialPeer(ctx context.Context, conn *Conn, port uint16) (*Conn, error) {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	if port < 1024 {
		return nil, refusal(Reason{Kind: ReasonPort, Port: port}, "the server named reserved port %d for data", port)
	}
	return e.dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))), 0)
}

// ListenPeer listens for connections from the host that conn is connected to, on the local address
// of conn, as active FTP requires. It fails if there is a proxy. Connections from other hosts are
// closed unread.
func (e *Env) ListenPeer(ctx context.Context, conn *Conn) (*PeerListener, error) {
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
	return &PeerListener{l: l, peer: peer.Addr().Unmap(), idle: e.client.timeouts.Idle, rec: recordingOf(ctx)}, nil
}

// A PeerListener accepts connections from a single host.
type PeerListener struct {
	l    net.Listener
	peer netip.Addr
	idle time.Duration
	rec  *recording
}

// Accept waits for and returns the next connection from the host.
func (l *PeerListener) Accept() (*Conn, error) {
	for {
		c, err := l.l.Accept()
		if err != nil {
			return nil, err
		}
		from, err := netip.ParseAddrPort(c.RemoteAddr().String())
		if err == nil && from.Addr().Unmap() == l.peer {
			conn := NewConn(c, l.idle)
			conn.record(l.rec, Taps{})
			return conn, nil
		}
		c.Close()
	}
}

// Addr returns the address that the host should connect to.
func (l *PeerListener) Addr() net.Addr { return l.l.Addr() }

// Close stops listening. A blocked Accept returns an error.
func (l *PeerListener) Close() error { return l.l.Close() }

func (e *Env) dial(ctx context.Context, network, addr string, localPort uint16) (*Conn, error) {
	rec := recordingOf(ctx)
	ctx, cancel := e.connectContext(ctx, "no connection within %v")
	defer cancel()
	var (
		c   net.Conn
		err error
	)
	prov, where := provenanceOf(ctx), placeUnknown
	if prov.proxy.url.IsZero() {
		if c, err = e.dialDirect(ctx, prov, network, addr, localPort); err == nil {
			where = placeOf(c.RemoteAddr())
			e.client.learn(addr, where)
		}
	} else if prov.proxy.forward {
		// The driver connects to the proxy itself, which the user chose.
		c, err = e.dialDirect(ctx, &provenance{}, network, addr, localPort)
	} else {
		c, err = e.dialTunnel(ctx, prov.proxy.url, network, addr)
	}
	if err != nil {
		return nil, dialError(ctx, err)
	}
	return e.newConn(c, prov, where, rec), nil
}

// newConn returns the connection that a driver gets.
func (e *Env) newConn(c net.Conn, prov *provenance, where place, rec *recording) *Conn {
	conn := NewConn(c, e.client.timeouts.Idle)
	conn.place = where
	prov.served(where)
	prov.conn.CompareAndSwap(nil, conn) // it may not be the one chosen
	conn.record(rec, Taps{})
	return conn
}

// connectContext adds the connect timeout to ctx. The words are those of its error, for what it
// stops.
func (e *Env) connectContext(ctx context.Context, words string) (context.Context, context.CancelFunc) {
	limit := e.client.timeouts.Connect
	if limit == 0 {
		return ctx, func() {}
	}
	cause := &Error{Code: ErrNetwork, Retry: true, Err: fmt.Errorf(words, limit)}
	return context.WithTimeoutCause(ctx, limit, cause)
}

// dialError chooses the best explanation for a failed dial: the reason that the context ended or
// the rule that refused it, rather than the error of a socket.
func dialError(ctx context.Context, err error) error {
	var own *Error
	switch {
	case errors.As(err, &own):
		return own
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		if end, ok := ctx.Deadline(); ok && time.Until(end) < 100*time.Millisecond {
			<-ctx.Done() // the socket was quicker than the context, but it is the same timeout
			return context.Cause(ctx)
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Error{Code: ErrNetwork, Err: err}
	}
	if code, retry := classify(err); code == ErrNetwork {
		return &Error{Code: code, Retry: retry, Err: err} // so that drivers need not tell it from errors of servers
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
		lookup, ctx := newLookup(ctx, target)
		d := net.Dialer{
			LocalAddr: localAddr(network, opts.Network.Local, localPort),
			ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
				lookup.met()
				peer, err := netip.ParseAddrPort(address)
				if err != nil {
					return err
				}
				return policy.checkAddr(prov, peer)
			},
		}
		c, err = d.DialContext(lookup.tell(ctx, recordingOf(ctx)), network, target)
		err = lookup.explain(err)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// localAddr returns the address to connect from, or nil for any.
func localAddr(network string, ip netip.Addr, port uint16) net.Addr {
	if !ip.IsValid() && port == 0 {
		return nil
	}
	if network[:3] == "udp" {
		return &net.UDPAddr{IP: ip.AsSlice(), Port: int(port), Zone: ip.Zone()}
	}
	return &net.TCPAddr{IP: ip.AsSlice(), Port: int(port), Zone: ip.Zone()}
}
