package nntp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/pool"
	"github.com/urlget/urlget/internal/wire"
)

// A serverKey names connections that are interchangeable.
type serverKey struct {
	scope  string // what the policy lets the connection be used for
	addr   string
	host   string
	tls    bool
	login  string // the URL's user and password
	remote bool   // asked for by a resource: it may get fewer credentials than the user
}

// maxLine bounds replies and overview lines; the latter hold whole headers.
const maxLine = 60 << 10

// A session is a connection to a news server that is ready for commands.
type session struct {
	env    *fetch.Env
	lines  *wire.Lines
	host   string
	secure bool
	caps   map[string]string // label in upper case to arguments; nil for servers of RFC 977
	group  string            // the selected one
}

// blocks are how multi-line answers are read: RFC 3977, section 3.1.1.
var blocks = wire.DotOptions{}

// dial connects, waits for the greeting and learns what the server can do.
func (d *driver) dial(ctx context.Context, t *target) (_ *session, err error) {
	addr := net.JoinHostPort(t.host, fmt.Sprint(t.port))
	conn, err := d.env.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if t.tls {
		if conn, err = d.env.Handshake(ctx, conn, d.env.TLSConfig(t.host)); err != nil {
			return nil, err
		}
	}
	s := &session{env: d.env, lines: wire.NewLines(conn, maxLine), host: t.host, secure: t.tls}
	s.lines.Trace = d.env.Trace()
	release := fetch.Bind(ctx, conn)
	defer func() {
		if !release() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			s.close()
		}
	}()
	greeting, err := s.reply()
	if err != nil {
		return nil, err
	}
	if greeting.Code != replyPosting && greeting.Code != replyNoPosting {
		return nil, failure("the server does not serve us", greeting)
	}
	if d.opts.StartTLS && !s.secure {
		if err := s.startTLS(ctx); err != nil {
			return nil, err
		}
	}
	return s, s.begin()
}

// begin asks for the capabilities and for the commands of a reader.
func (s *session) begin() error {
	if err := s.capabilities(); err != nil {
		return err
	}
	_, transit := s.caps["MODE-READER"]
	if s.caps != nil && !transit {
		return nil
	}
	r, err := s.cmd("MODE READER")
	switch {
	case err != nil:
		return err
	case r.Code == 400 || r.Code == 502:
		return failure("the server does not serve readers", r)
	case transit:
		return s.capabilities()
	}
	return nil // a server of RFC 977 may not know it
}

// capabilities fills in s.caps.
func (s *session) capabilities() error {
	s.caps = nil
	r, err := s.cmd("CAPABILITIES")
	if err != nil || r.Code != replyCapabilities {
		return err
	}
	s.caps = make(map[string]string)
	for line, err := range s.lines.Reader().DotLines(blocks, 0) {
		if err != nil {
			return s.lines.Break(err)
		}
		if len(s.caps) < 100 {
			label, args, _ := strings.Cut(string(line), " ")
			s.caps[strings.ToUpper(label)] = args
		}
	}
	return nil
}

// can reports whether the server advertises a capability, with the argument if
// that is not empty.
func (s *session) can(label, arg string) bool {
	args, ok := s.caps[label]
	return ok && (arg == "" || strings.Contains(" "+strings.ToUpper(args)+" ", " "+arg+" "))
}

// reply reads one reply within the reply timeout.
func (s *session) reply() (wire.Reply, error) {
	conn := s.lines.Conn()
	if limit := s.env.Timeouts().Reply; limit > 0 && s.lines.Reader().Buffered() == 0 {
		conn.SetReadDeadline(time.Now().Add(limit))
		defer conn.SetReadDeadline(time.Time{})
	}
	return s.lines.Reply()
}

// cmd sends a command and reads the reply.
func (s *session) cmd(line string) (wire.Reply, error) {
	if err := s.lines.Send(line); err != nil {
		return wire.Reply{}, err
	}
	return s.reply()
}

// expect is cmd with the only reply that is not a failure.
func (s *session) expect(code int, what, line string) (wire.Reply, error) {
	r, err := s.cmd(line)
	if err == nil && r.Code != code {
		err = failure(what, r)
	}
	return r, err
}

// startTLS upgrades the connection. The server forgets what was before (RFC
// 4642, section 2.2.2).
func (s *session) startTLS(ctx context.Context) error {
	r, err := s.cmd("STARTTLS")
	if err != nil {
		return err
	}
	if r.Code != replyStartTLS {
		e := failure("the server does not begin TLS", r)
		e.Code, e.Retry = fetch.ErrTLS, false
		return e
	}
	var failed error
	if err := s.lines.Upgrade(func(conn net.Conn) net.Conn {
		t, err := s.env.Handshake(ctx, conn, s.env.TLSConfig(s.host))
		if failed = err; err != nil {
			return conn
		}
		return t
	}); err != nil {
		return err
	}
	if failed != nil {
		return s.lines.Break(failed)
	}
	s.secure, s.group, s.caps = true, "", nil
	return nil
}

// selectGroup makes group the selected one and returns the reply to that.
func (s *session) selectGroup(group string) (wire.Reply, error) {
	s.group = ""
	r, err := s.expect(replyGroup, "newsgroup "+group, "GROUP "+group)
	if err == nil {
		s.group = group
	}
	return r, err
}

// close ends the connection without a word: one that is given up may be in the
// middle of anything, and TLS would wait to say goodbye.
func (s *session) close() {
	conn := s.lines.Conn()
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	conn.Close()
}

// A lease is a session in use, bound to the context of one request.
type lease struct {
	*session
	pooled  *pool.Lease[serverKey, *session]
	release func() bool
}

// end gives the session back, if the conversation can go on.
func (l *lease) end() {
	if l.release() && l.lines.Err() == nil {
		l.pooled.Put()
	} else {
		l.pooled.Discard()
	}
}

// abort gives the session up.
func (l *lease) abort() {
	l.pooled.Discard()
	l.release()
}

// with leases a session and runs op on it, after a login or STARTTLS if the
// server wants that. A session that was hung up while idle is replaced. If
// with succeeds, the caller must end or abort the lease.
func (d *driver) with(ctx context.Context, t *target, req *fetch.Request, op func(*lease) error) (*lease, error) {
	user, _ := t.login.User()
	password, _ := t.login.Password()
	key := serverKey{
		scope: d.env.Scope(ctx), addr: net.JoinHostPort(t.host, fmt.Sprint(t.port)), host: t.host, tls: t.tls,
		login: user + "\x00" + password, remote: !req.From.IsZero(),
	}
	for {
		pooled, err := d.pool.Get(ctx, key, func(s *session) bool { return t.group != "" && s.group == t.group },
			func(ctx context.Context) (*session, error) { return d.dial(ctx, t) })
		if err != nil {
			return nil, err
		}
		l := &lease{session: pooled.Conn, pooled: pooled, release: fetch.Bind(ctx, pooled.Conn.lines.Conn())}
		if err = d.attempt(ctx, t, l, op); err == nil {
			return l, nil
		}
		// Servers drop idle connections silently or with a reply 400.
		stale := pooled.Reused && ctx.Err() == nil && (isHangup(l.lines.Err()) || replyCode(err) == 400)
		if stale || replyCode(err) == 400 {
			l.abort()
		} else {
			l.end()
		}
		if !stale {
			return nil, err
		}
	}
}

// isHangup reports whether err says that the peer is gone.
func isHangup(err error) bool {
	var timeout net.Error
	return err != nil && !(errors.As(err, &timeout) && timeout.Timeout())
}

// attempt runs op, and again after a login or STARTTLS.
func (d *driver) attempt(ctx context.Context, t *target, l *lease, op func(*lease) error) error {
	for try := 1; ; try++ {
		err := op(l)
		switch code := replyCode(err); {
		case code == replyLoginNeeded && try <= 2:
			if err := d.login(ctx, t, l.session); err != nil {
				return err
			}
		case code == replyTLSNeeded && !l.secure && l.can("STARTTLS", ""):
			if err := l.upgrade(ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// upgrade is startTLS in mid-session.
func (s *session) upgrade(ctx context.Context) error {
	if err := s.startTLS(ctx); err != nil {
		return err
	}
	return s.begin()
}
