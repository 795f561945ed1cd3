package ftp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// A dataConn is a data connection while it is set up: a port, then a connection, then TLS.
type dataConn struct {
	port     uint16   // of the server, in passive mode; 0 if unknown
	listener listener // for the server, in active mode; else nil
	refused  error    // the server's refusal of the command
	conn     *fetch.Conn
}

func (dc *dataConn) close() {
	if dc.conn != nil {
		dc.conn.Close()
		dc.conn = nil
	}
	if dc.listener != nil {
		dc.listener.Close()
		dc.listener = nil
	}
	dc.port, dc.refused = 0, nil
}

// offer returns the command that prepares a data connection.
func (s *session) offer(ctx context.Context, dc *dataConn) (step, error) {
	switch {
	case s.opts.Active:
		l, err := s.listen(ctx)
		if err != nil {
			return step{}, err
		}
		dc.listener = l
		return s.eprt(dc), nil
	case s.noEPSV:
		return s.pasv(dc), nil
	}
	return s.epsv(dc), nil
}

// establish opens the data connection after the reply to the offer. If the server refused the
// command, or its port refuses connections or is reserved, it sends PASV or PORT.
func (s *session) establish(ctx context.Context, dc *dataConn) error {
	if dc.listener != nil {
		if dc.refused != nil {
			old, err := s.portCommand(dc)
			if err != nil {
				return err
			}
			return s.say(old)
		}
		return nil
	}
	var failed error // of EPSV
	if !s.noEPSV {
		if dc.refused == nil {
			dc.conn, failed = s.dial(ctx, dc.port)
			if failed == nil || ctx.Err() != nil ||
				errors.Is(failed, fetch.ErrPolicy) && !isReserved(failed) {
				return failed
			}
		}
		s.noEPSV = true
		if err := s.say(s.pasv(dc)); err != nil {
			return err
		}
	}
	if dc.refused != nil {
		return cmp.Or(failed, dc.refused)
	}
	var err error
	dc.conn, err = s.dial(ctx, dc.port)
	return err
}

// isReserved reports whether err refuses a port that belongs to another service.
func isReserved(err error) bool {
	var e *fetch.Error
	return errors.As(err, &e) && e.Reason.Kind == fetch.ReasonPort
}

// complete waits for the server to connect, in active mode, and starts TLS. It is called after the
// preliminary reply, because some servers do neither before it. After the final reply there is no
// connection to wait for.
func (s *session) complete(ctx context.Context, x *transfer) (err error) {
	dc := x.data
	switch {
	case x.final != nil && dc.conn == nil:
		dc.close()
		return nil
	case dc.listener != nil:
		if dc.conn, x.final, err = s.control.accept(ctx, dc.listener, x.command); err != nil {
			s.lost = true
			return err
		}
		if dc.conn == nil {
			return nil
		}
	}
	if s.private {
		if err := dc.conn.Handshake(ctx, s.control.tls); err != nil {
			s.lost = true
			return err
		}
	}
	return nil
}

// epsv requests a port of the server (RFC 2428, section 3).
func (s *session) epsv(dc *dataConn) step {
	return step{line: "EPSV", then: func(r wire.Reply) error {
		dc.refused = refusal("EPSV", r)
		if port, ok := extendedPort(r.Text()); ok && r.Code == 229 {
			dc.port, dc.refused = port, nil
		}
		return nil
	}}
}

// pasv requests a port with the older command (RFC 959, section 4.1.2). The address in the reply is
// ignored, because it could be that of any host.
func (s *session) pasv(dc *dataConn) step {
	return step{line: "PASV", then: func(r wire.Reply) error {
		dc.refused = refusal("PASV", r)
		port, ok := passivePort(r.Text())
		if r.Code == 229 { // by a translator between IPv4 and IPv6
			port, ok = extendedPort(r.Text())
		}
		if ok && r.Code/100 == 2 {
			dc.port, dc.refused = port, nil
		}
		return nil
	}}
}

// eprt sends the address that the server must connect to (RFC 2428, section 2).
func (s *session) eprt(dc *dataConn) step {
	addr, err := netip.ParseAddrPort(dc.listener.Addr().String())
	family, host, port := 1, "<address>", "<port>"
	if err == nil && addr.Port() != 0 {
		host, port = addr.Addr().Unmap().WithZone("").String(), strconv.Itoa(int(addr.Port()))
		if addr.Addr().Unmap().Is6() {
			family = 2
		}
	}
	return step{line: fmt.Sprintf("EPRT |%d|%s|%s|", family, host, port), then: func(r wire.Reply) error {
		if r.Code/100 != 2 {
			dc.refused = refusal("EPRT", r)
		}
		return nil
	}}
}

// portCommand returns the older command, which supports IPv4 only.
func (s *session) portCommand(dc *dataConn) (step, error) {
	addr, err := netip.ParseAddrPort(dc.listener.Addr().String())
	if err != nil || !addr.Addr().Unmap().Is4() {
		return step{}, dc.refused
	}
	ip, port := addr.Addr().Unmap().As4(), addr.Port()
	line := fmt.Sprintf("PORT %d,%d,%d,%d,%d,%d", ip[0], ip[1], ip[2], ip[3], port>>8, port&255)
	return step{line: line}, nil
}

// extendedPort finds the port in "Entering Extended Passive Mode (|||6446|)". The delimiter may be
// any character.
func extendedPort(text string) (uint16, bool) {
	_, after, ok := strings.Cut(text, "(")
	if !ok || len(after) < 5 {
		return 0, false
	}
	fields := strings.Split(after, after[:1])
	if len(fields) < 5 || fields[0] != "" {
		return 0, false
	}
	port, err := strconv.ParseUint(fields[3], 10, 16)
	return uint16(port), err == nil && port != 0
}

// passivePort finds the port in "Entering Passive Mode (h1,h2,h3,h4,p1,p2)". Some servers omit the
// parentheses.
func passivePort(text string) (uint16, bool) {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			continue
		}
		end := len(text) - len(strings.TrimLeft(text[i:], "0123456789, "))
		if port, ok := sixNumbers(text[i:end]); ok {
			return port, port != 0
		}
		i = end
	}
	return 0, false
}

func sixNumbers(text string) (port uint16, ok bool) {
	fields := strings.Split(strings.Trim(text, " ,"), ",")
	if len(fields) != 6 {
		return 0, false
	}
	for _, f := range fields {
		n, err := strconv.ParseUint(strings.TrimSpace(f), 10, 8)
		if err != nil {
			return 0, false
		}
		port = port<<8 | uint16(n)
	}
	return port, true
}
