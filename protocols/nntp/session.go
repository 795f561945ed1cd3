package nntp

import (
	"context"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// maxLine bounds replies and overview lines; the latter hold whole headers.
const maxLine = 60 << 10

// A session is a connection to a news server that is ready for commands.
type session struct {
	mailsession.Session
	mute  bool              // the greeting said that posting is not allowed
	caps  map[string]string // label to arguments, in upper case; nil for servers of RFC 977
	group string            // the selected one
}

// blocks are the rules of multi-line responses (RFC 3977, section 3.1.1).
var blocks = wire.DotOptions{}

// dial connects, waits for the greeting and asks for the capabilities.
func (d *opener) dial(ctx context.Context, srv *mailsession.Server) (*session, error) {
	s := &session{}
	return s, s.Dial(ctx, d.env, srv, maxLine, func() error { return d.greet(ctx, s) })
}

// greet has the conversation up to the capabilities.
func (d *opener) greet(ctx context.Context, s *session) error {
	s.Conn.PieceLines()
	greeting, err := s.reply()
	if err != nil {
		return err
	}
	if greeting.Code != replyPosting && greeting.Code != replyNoPosting {
		return failure("the server does not serve us", greeting)
	}
	s.mute = greeting.Code == replyNoPosting
	if d.opts.StartTLS && !s.Secure {
		if err := s.startTLS(ctx); err != nil {
			return err
		}
	}
	return s.begin()
}

// begin asks for the capabilities and switches to the mode of readers.
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
	case r.Code == 502 && s.mute && !transit:
		return nil // a server of RFC 977, for readers, that does not know the command
	case r.Code == replyDiscontinued || r.Code == 502:
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
	s.caps, err = s.Capabilities()
	return err
}

// can reports whether the server advertises a capability, with the argument if that is not empty.
func (s *session) can(label, arg string) bool {
	args, ok := s.caps[label]
	return ok && (arg == "" || strings.Contains(" "+args+" ", " "+arg+" "))
}

// reply reads one reply within the reply timeout.
func (s *session) reply() (wire.Reply, error) {
	defer s.InTime()()
	return s.Lines.Reply()
}

// cmd sends a command and reads the reply.
func (s *session) cmd(line string) (wire.Reply, error) {
	if err := s.Lines.Send(line); err != nil {
		return wire.Reply{}, err
	}
	return s.reply()
}

// expect is cmd with the only reply that is not a failure.
func (s *session) expect(code int, what, line string) (wire.Reply, error) {
	r, err := s.cmd(line)
	if err == nil && r.Code != code {
		err = s.refused(what, r)
	}
	return r, err
}

// refused returns the error for a reply that is not the one expected. If it is not a negative one,
// it must be the response to something else, as the next would be: the session is broken.
func (s *session) refused(what string, r wire.Reply) error {
	err := failure(what, r)
	if r.Code < 400 {
		return s.Lines.Break(err)
	}
	return err
}

// startTLS begins TLS. The server discards its earlier state (RFC 4642, section 2.2.2).
func (s *session) startTLS(ctx context.Context) error {
	r, err := s.cmd("STARTTLS")
	if err == nil && r.Code != replyStartTLS {
		err = failure("the server does not begin TLS", r)
	}
	if err = s.StartTLS(ctx, err); err == nil {
		s.group, s.caps = "", nil
	}
	return err
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

// A lease is a session in use, bound to the context of one request.
type lease struct {
	*session
	mailsession.Lease[*session]

	// ahead are the articles that were asked for and have not been answered, for other requests of
	// line, which is nil if there are none. They are for the same server and scope.
	ahead []*target
	line  driver.Pipeline
	key   mailsession.Key
	scope string
}

// Put returns the session to the pool or, if answers are to come on it, leaves it to the next
// request of the pipeline.
func (l *lease) Put() {
	switch {
	case len(l.ahead) == 0:
		l.Lease.Put()
	case !l.Unbind() || l.Lines.Err() != nil || !l.line.Keep(l, l.Discard):
		l.Discard()
	}
}

// with leases a session and runs op on it, after a login or STARTTLS if the server wants that. If it
// succeeds, the caller must put or discard the lease.
func (d *opener) with(ctx context.Context, t *target, op func(*lease) error) (*lease, error) {
	var l *lease
	inGroup := func(s *session) bool { return t.group != "" && s.group == t.group }
	_, err := d.pool.Lease(ctx, t.server(), inGroup, func(leased mailsession.Lease[*session]) error {
		l = &lease{session: leased.Conn, Lease: leased}
		err := d.attempt(ctx, t, l, op)
		if replyCode(err) == replyDiscontinued {
			l.Lines.Break(err) // so servers end idle connections, too
		}
		return err
	})
	return l, err
}

// attempt runs op, and again after a login or STARTTLS.
func (d *opener) attempt(ctx context.Context, t *target, l *lease, op func(*lease) error) error {
	for try := 1; ; try++ {
		err := op(l)
		switch code := replyCode(err); {
		case code == replyLoginNeeded && try <= 2:
			if err := d.login(ctx, t, l.session); err != nil {
				return err
			}
		case code == replyTLSNeeded && !l.Secure && l.can("STARTTLS", ""):
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
