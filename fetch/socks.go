package fetch

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"

	xproxy "golang.org/x/net/proxy"

	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

const socksPort = 1080

// A forward is a dialer for the SOCKS client that dials the proxy as Env does.
type forward func(ctx context.Context, network, addr string) (net.Conn, error)

func (f forward) Dial(network, addr string) (net.Conn, error) {
	return f(context.Background(), network, addr)
}

func (f forward) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return f(ctx, network, addr)
}

// dialSOCKS5 connects through a SOCKS5 proxy (RFC 1928), with the user and password of its URL, if
// any (RFC 1929).
func (e *env) dialSOCKS5(ctx context.Context, p uri.URI, addr string) (net.Conn, error) {
	var auth *xproxy.Auth
	if user, ok := p.User(); ok {
		password, _ := p.Password()
		auth = &xproxy.Auth{User: user, Password: password}
	}
	var raw net.Conn
	dialProxy := forward(func(ctx context.Context, _, _ string) (_ net.Conn, err error) {
		raw, err = e.dialProxy(ctx, p, socksPort)
		return raw, err
	})
	d, err := xproxy.SOCKS5("tcp", p.Host(), auth, dialProxy)
	if err != nil {
		return nil, err
	}
	_, err = d.(xproxy.ContextDialer).DialContext(ctx, "tcp", addr) // the returned Conn would hide the socket
	if err != nil && (strings.HasSuffix(err.Error(), noMethod) || strings.HasSuffix(err.Error(), noLogin)) {
		return nil, &Error{Code: ErrAuth, Err: err, Hint: proxyLoginHint}
	}
	return raw, err
}

// Errors of golang.org/x/net/proxy, which have no types: no accepted login method, and a rejected
// login.
const (
	noMethod = "no acceptable authentication methods"
	noLogin  = "username/password authentication failed"
)

// dialSOCKS4 connects through a SOCKS4 proxy, which accepts IPv4 addresses, or a SOCKS4a proxy,
// which also accepts names. The user of its URL is sent as the user ID; the protocol has no
// passwords.
func (e *env) dialSOCKS4(ctx context.Context, p uri.URI, addr string) (net.Conn, error) {
	request, err := e.socks4Request(ctx, p, addr)
	if err != nil {
		return nil, err
	}
	c, err := e.dialProxy(ctx, p, socksPort)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	err = socks4(c, request)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (e *env) socks4Request(ctx context.Context, p uri.URI, addr string) ([]byte, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, err
	}
	user, _ := p.User()
	for _, text := range []string{user, host} {
		if err := wire.CheckLine(text); err != nil {
			return nil, err
		}
	}
	to, err := netip.ParseAddr(host)
	named := err != nil && p.Scheme() == "socks4a"
	switch {
	case named:
		to = netip.AddrFrom4([4]byte{0, 0, 0, 1}) // an invalid address, which means that a name follows
	case err != nil:
		if to, err = e.lookupIPv4(ctx, addr, host); err != nil {
			return nil, err
		}
	}
	if to = to.Unmap(); !to.Is4() {
		return nil, refusal(Reason{Kind: ReasonProxy, Host: host},
			"SOCKS4 does not support the IPv6 address %s", to)
	}
	if !named {
		if err := e.client.policy.checkAddr(provenanceOf(ctx),
			netip.AddrPortFrom(to, uint16(port))); err != nil {
			return nil, err
		}
	}
	b := append(binary.BigEndian.AppendUint16([]byte{4, 1}, uint16(port)), to.AsSlice()...)
	b = append(append(b, user...), 0)
	if named {
		b = append(append(b, host...), 0)
	}
	return b, nil
}

// lookupIPv4 resolves host, the host part of addr.
func (e *env) lookupIPv4(ctx context.Context, addr, host string) (netip.Addr, error) {
	if ip, ok := e.client.opts.Network.Hosts[addr]; ok {
		return ip, nil
	}
	list, err := addressesOf(ctx, "ip4", host)
	if err != nil {
		return netip.Addr{}, err
	}
	return list[0], nil
}

func socks4(c net.Conn, request []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	var reply [8]byte
	if _, err := io.ReadFull(c, reply[:]); err != nil {
		return ErrProtocol.Errorf("reply of the proxy: %w", err)
	}
	switch code := reply[1]; {
	case reply[0] != 0:
		return ErrProtocol.Errorf("not a SOCKS4 proxy: reply version %#02x", reply[0])
	case code == 90:
		return nil
	case code == 92 || code == 93:
		return ErrAuth.Errorf("the proxy rejected the user ID (code %d)", code)
	default:
		return ErrNetwork.Errorf("the proxy rejected the request (code %d)", code)
	}
}
