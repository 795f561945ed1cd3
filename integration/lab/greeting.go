package lab

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// A greeting is the shortest exchange that identifies a server of the lab on its port.
type greeting struct {
	anyPort    bool   // replies may come from another port
	udp        bool   // send is a datagram, and want occurs in the replies
	tls        bool   // start with a TLS handshake
	privileged bool   // connect from a port below 1024
	send       string // sent first; "" if the server sends first
	want       string // occurs in the response
}

// Limit of the bytes that check reads.
const maxGreeting = 64 << 10

// check performs the exchange with the server at addr.
func (g greeting) check(addr string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := g.dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, g.send); err != nil {
		return err
	}
	var got []byte
	buf := make([]byte, 4096)
	for len(got) < maxGreeting {
		n, err := conn.Read(buf)
		got = append(got, buf[:n]...)
		if bytes.Contains(got, []byte(g.want)) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s sent %q, want %q: %w", addr, got, g.want, err)
		}
	}
	return fmt.Errorf("%s sent %d bytes without %q", addr, len(got), g.want)
}

func (g greeting) dial(ctx context.Context, addr string) (net.Conn, error) {
	if g.tls {
		d := tls.Dialer{Config: &tls.Config{RootCAs: CA(), ServerName: "localhost"}}
		return d.DialContext(ctx, "tcp", addr)
	}
	var d net.Dialer
	if g.anyPort {
		return roam(addr)
	}
	if g.udp {
		return d.DialContext(ctx, "udp", addr)
	}
	if !g.privileged {
		return d.DialContext(ctx, "tcp", addr)
	}
	for port := 1023; ; port-- {
		d.LocalAddr = &net.TCPAddr{Port: port}
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil || port == 900 ||
			!errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return conn, err
		}
	}
}

// roam returns a connection that sends its first datagram to addr, and later ones to the source of
// the first reply.
func roam(addr string) (net.Conn, error) {
	to, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	return &roaming{UDPConn: socket, to: to}, nil
}

type roaming struct {
	*net.UDPConn
	to net.Addr
}

func (r *roaming) Write(p []byte) (int, error) { return r.WriteTo(p, r.to) }

func (r *roaming) Read(p []byte) (n int, err error) {
	n, r.to, err = r.ReadFrom(p)
	return n, err
}
