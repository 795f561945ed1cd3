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

// A greeting is the shortest exchange that tells a server of the lab from
// whatever else may listen on its port.
type greeting struct {
	udp        bool   // send is a datagram, and want occurs in those that come back
	tls        bool   // the connection begins with a TLS handshake
	privileged bool   // the connection comes from a port below 1024
	send       string // sent first; a server that speaks first gets nothing
	want       string // occurs in what comes back
}

// The most that check reads.
const maxGreeting = 64 << 10

// check holds one exchange with the server at addr.
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
			return fmt.Errorf("%s said %q and no %q: %w", addr, got, g.want, err)
		}
	}
	return fmt.Errorf("%s said %d octets and no %q", addr, len(got), g.want)
}

func (g greeting) dial(ctx context.Context, addr string) (net.Conn, error) {
	if g.tls {
		d := tls.Dialer{Config: &tls.Config{RootCAs: CA(), ServerName: "localhost"}}
		return d.DialContext(ctx, "tcp", addr)
	}
	var d net.Dialer
	if g.udp {
		return d.DialContext(ctx, "udp", addr)
	}
	if !g.privileged {
		return d.DialContext(ctx, "tcp", addr)
	}
	for port := 1023; ; port-- {
		d.LocalAddr = &net.TCPAddr{Port: port}
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil || port == 900 || !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return conn, err
		}
	}
}
