package ftp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/wire"
)

// A channel is a data connection on its way: first a port, then a connection, at last one with TLS.
type channel struct {
	port     uint16       // where the server waits; 0 if it does not
	listener net.Listener // where we wait for the server; nil if we do not
	refused  error        // why the server does not do as asked
	conn     net.Conn
}

func (ch *channel) close() {
	if ch.conn != nil {
		ch.conn.Close()
		ch.conn = nil
	}
	if ch.listener != nil {
		ch.listener.Close()
		ch.listener = nil
	}
}

// offer returns the command that prepares a data connection.
func (s *session) offer(ctx context.Context, ch *channel) (step, error) {
	switch {
	case s.opts.Active:
		l, err := s.listen(ctx)
		if err != nil {
			return step{}, err
		}
		ch.listener = l
		return s.eprt(ch), nil
	case s.noEPSV:
		return s.pasv(ch), nil
	}
	return s.epsv(ch), nil
}

// establish takes what the server said to the offer to a connection, by the older command if need be.
func (s *session) establish(ctx context.Context, ch *channel) error {
	if ch.listener != nil {
		if ch.refused != nil {
			old, err := s.portCommand(ch)
			if err != nil {
				return err
			}
			return s.say(old)
		}
		return nil
	}
	if !s.noEPSV {
		if ch.refused == nil {
			var err error
			if ch.conn, err = s.dial(ctx, ch.port); err == nil || ctx.Err() != nil || errors.Is(err, fetch.ErrPolicy) {
				return err
			}
		}
		s.noEPSV = true
		if err := s.say(s.pasv(ch)); err != nil {
			return err
		}
	}
	if ch.refused != nil {
		return ch.refused
	}
	var err error
	ch.conn, err = s.dial(ctx, ch.port)
	return err
}

// complete waits for the server to connect, if it is to, and begins TLS. The server has said by now
// that data comes: before that, some take neither. If it has said that no more comes, there is no
// connection to wait for.
func (s *session) complete(ctx context.Context, x *transfer) (err error) {
	ch := x.ch
	switch {
	case x.final != nil && ch.conn == nil:
		ch.close()
		return nil
	case ch.listener != nil:
		if ch.conn, err = s.accept(ctx, ch.listener); err != nil {
			s.lost = true
			return err
		}
	}
	if s.private {
		tls, err := s.control.env.Handshake(ctx, ch.conn, s.control.tls)
		if err != nil {
			s.lost = true
			return err
		}
		ch.conn = tls
	}
	return nil
}

// accept waits for the server as long as it may take to connect.
func (s *session) accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	if limit := s.control.env.Timeouts().Connect; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit,
			&fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: fmt.Errorf("the server did not connect within %v", limit)})
		defer cancel()
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	conn, err := l.Accept()
	stop()
	l.Close()
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return conn, err
}

// epsv asks where the server waits (RFC 2428, section 3).
func (s *session) epsv(ch *channel) step {
	return step{line: "EPSV", then: func(r wire.Reply) error {
		ch.refused = refusal("EPSV", r)
		if port, ok := extendedPort(r.Text()); ok && r.Code == 229 {
			ch.port, ch.refused = port, nil
		}
		return nil
	}}
}

// pasv asks the same with the older command (RFC 959, section 4.1.2). The address in the reply is
// none of its business.
func (s *session) pasv(ch *channel) step {
	return step{line: "PASV", then: func(r wire.Reply) error {
		ch.refused = refusal("PASV", r)
		if port, ok := passivePort(r.Text()); ok && r.Code/100 == 2 {
			ch.port, ch.refused = port, nil
		}
		return nil
	}}
}

// eprt tells the server where to connect to (RFC 2428, section 2).
func (s *session) eprt(ch *channel) step {
	addr, err := netip.ParseAddrPort(ch.listener.Addr().String())
	family, host, port := 1, "<address>", "<port>"
	if err == nil && addr.Port() != 0 {
		host, port = addr.Addr().Unmap().WithZone("").String(), strconv.Itoa(int(addr.Port()))
		if addr.Addr().Unmap().Is6() {
			family = 2
		}
	}
	return step{line: fmt.Sprintf("EPRT |%d|%s|%s|", family, host, port), then: func(r wire.Reply) error {
		if r.Code/100 != 2 {
			ch.refused = refusal("EPRT", r)
		}
		return nil
	}}
}

// portCommand tells the same with the older command, which has room for IPv4 only.
func (s *session) portCommand(ch *channel) (step, error) {
	addr, err := netip.ParseAddrPort(ch.listener.Addr().String())
	if err != nil || !addr.Addr().Unmap().Is4() {
		return step{}, ch.refused
	}
	ip, port := addr.Addr().Unmap().As4(), addr.Port()
	return step{line: fmt.Sprintf("PORT %d,%d,%d,%d,%d,%d", ip[0], ip[1], ip[2], ip[3], port>>8, port&255)}, nil
}

// extendedPort finds the port in "Entering Extended Passive Mode (|||6446|)". The delimiter may be any
// character.
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

// passivePort finds the port in "Entering Passive Mode (h1,h2,h3,h4,p1,p2)", which comes without the
// parentheses as well.
func passivePort(text string) (uint16, bool) {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			continue
		}
		end := i
		for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == ',' || text[end] == ' ') {
			end++
		}
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
