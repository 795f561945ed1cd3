package fetchhttp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
)

// Values of SOCKS5 (RFC 1928).
const (
	socksVersion = 5
	socksNoAuth  = 0
	socksNone    = 0xff // no acceptable method
	socksConnect = 1
	socksIPv4    = 1
	socksName    = 3
	socksIPv6    = 4
)

// Replies of SOCKS5 (RFC 1928, section 6).
const (
	socksSucceeded      = 0
	socksFailure        = 1
	socksNotAllowed     = 2
	socksUnreachable    = 4
	socksBadCommand     = 7
	socksBadAddressType = 8
)

// socks serves a SOCKS5 client, which may only connect.
func (p *Proxy) socks(ctx context.Context, c readWriter) {
	c.SetDeadline(time.Now().Add(helloTimeout))
	target, status, err := p.socksRequest(c, func(user, password string) bool {
		c.SetDeadline(time.Now().Add(maxTurn + helloTimeout))
		return p.login(ctx, c.RemoteAddr().String(), user, password) == nil
	})
	if err != nil {
		return
	}
	reply := func(status byte) error {
		_, err := c.Conn.Write([]byte{socksVersion, status, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
		return err
	}
	if status != socksSucceeded {
		reply(status)
		return
	}
	c.SetDeadline(time.Time{})
	if p.Authority != nil {
		if reply(socksSucceeded) == nil {
			p.read(ctx, c, target)
		}
		return
	}
	far, err := p.dial(ctx, tunnelScheme, target)
	if err != nil {
		status := byte(socksFailure)
		switch fetch.CodeOf(err) {
		case fetch.ErrPolicy:
			status = socksNotAllowed
		case fetch.ErrNetwork:
			status = socksUnreachable
		}
		reply(status)
		return
	}
	if reply(socksSucceeded) != nil {
		far.Close()
		return
	}
	join(ctx, c, far)
}

// socksRequest reads the greeting and the request of a client. It returns the host and port to
// connect to, or the reply if there is none.
func (p *Proxy) socksRequest(
	c io.ReadWriter, isRight func(user, password string) bool,
) (target string, status byte, err error) {
	var b [256]byte
	read := func(n int) []byte {
		if err == nil {
			_, err = io.ReadFull(c, b[:n])
		}
		return b[:n]
	}
	methods := int(read(2)[1])
	method := byte(socksNoAuth)
	if p.Login != nil {
		method = socksPassword
	}
	offered := bytes.IndexByte(read(methods), method) >= 0
	if err != nil {
		return "", 0, err
	}
	if !offered {
		c.Write([]byte{socksVersion, socksNone})
		return "", 0, errors.New("fetchhttp: the SOCKS client does not offer the login that is required")
	}
	if _, err := c.Write([]byte{socksVersion, method}); err != nil {
		return "", 0, err
	}
	if p.Login != nil {
		if err := socksLogin(c, isRight); err != nil {
			return "", 0, err
		}
	}
	head := read(4)
	version, command, kind := head[0], head[1], head[3]
	var host string
	switch {
	case err != nil:
		return "", 0, err
	case version != socksVersion:
		return "", 0, errors.New("fetchhttp: not SOCKS 5")
	case kind == socksName:
		host = string(read(int(read(1)[0])))
	case kind == socksIPv4:
		a, _ := netip.AddrFromSlice(read(4))
		host = a.String()
	case kind == socksIPv6:
		a, _ := netip.AddrFromSlice(read(16))
		host = a.String()
	default:
		return "", socksBadAddressType, nil
	}
	port := binary.BigEndian.Uint16(read(2))
	switch {
	case command != socksConnect:
		return "", socksBadCommand, err
	case host == "" || strings.ContainsAny(host, "[]"):
		return "", socksFailure, err
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port))), socksSucceeded, err
}
