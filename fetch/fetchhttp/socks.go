package fetchhttp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// helloTimeout limits the time until a client has said what it wants.
const helloTimeout = 10 * time.Second

const maxConnections = 512

// Serve serves HTTP and SOCKS5 clients on l until ctx ends. It closes l.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	web := &sniffer{Listener: l, accepted: make(chan net.Conn),
		slots: make(chan struct{}, maxConnections), ctx: ctx}
	server := newServer(ctx, p)
	context.AfterFunc(ctx, func() {
		server.Close()
		l.Close()
	})
	web.running.Go(func() { web.run(p) })
	err := server.Serve(web)
	cancel()
	web.running.Wait()
	if errors.Is(err, http.ErrServerClosed) || ctx.Err() != nil && errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func newServer(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: helloTimeout, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 1 << 20,
		BaseContext:    func(net.Listener) context.Context { return ctx }}
}

// A sniffer is a listener that accepts the connections of HTTP clients, and serves those of SOCKS5
// clients itself.
type sniffer struct {
	net.Listener
	accepted chan net.Conn
	slots    chan struct{}
	running  sync.WaitGroup
	ctx      context.Context
	err      error // of Listener; it is set when accepted is closed
}

func (s *sniffer) Accept() (net.Conn, error) {
	c, ok := <-s.accepted
	if !ok {
		return nil, s.err
	}
	return c, nil
}

func (s *sniffer) run(p *Proxy) {
	var sniffing sync.WaitGroup
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
		}
		c, err := s.Listener.Accept()
		if err != nil {
			s.err = err
			sniffing.Wait()
			close(s.accepted)
			return
		}
		free := sync.OnceFunc(func() { <-s.slots })
		sniffing.Go(func() { s.sniff(p, c, free) })
	}
}

// sniff serves or accepts a connection by its first byte. Its end calls free.
func (s *sniffer) sniff(p *Proxy, conn net.Conn, free func()) {
	r := bufio.NewReader(conn)
	c := readWriter{Reader: r, Conn: conn, closed: free}
	stop := context.AfterFunc(s.ctx, func() { c.Close() })
	c.SetReadDeadline(time.Now().Add(helloTimeout))
	first, err := r.Peek(1)
	if err != nil {
		stop()
		c.Close()
		return
	}
	if first[0] == socksVersion {
		s.running.Go(func() {
			defer stop()
			defer c.Close()
			p.socks(s.ctx, c)
		})
		return
	}
	if target, ok := simpleRequest(r); ok {
		s.running.Go(func() {
			defer stop()
			defer c.Close()
			c.SetReadDeadline(time.Time{})
			p.serveSimple(s.ctx, c, target)
		})
		return
	}
	stop()
	c.SetReadDeadline(time.Time{})
	select {
	case s.accepted <- c:
	case <-s.ctx.Done():
		c.Close()
	}
}

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
	target, status, err := p.socksRequest(c)
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
func (p *Proxy) socksRequest(c io.ReadWriter) (target string, status byte, err error) {
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
		if err := p.socksLogin(c); err != nil {
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
