package nntp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// A serverKey names connections that are interchangeable.
type serverKey struct {
	addr  string
	host  string
	tls   bool
	login string // the URL's user and password
}

// maxLine bounds replies and overview lines; the latter hold whole headers.
const maxLine = 60 << 10

// A session is a connection to a news server that is ready for commands.
type session struct {
	mailsession.Session
	mute  bool              // the greeting said that posting is not allowed
	caps  map[string]string // label in upper case to arguments; nil for servers of RFC 977
	group string            // the selected one
}

// blocks are the rules of multi-line answers (RFC 3977, section 3.1.1).
var blocks = wire.DotOptions{}

// dial connects, waits for the greeting and asks for the capabilities.
func (d *opener) dial(ctx context.Context, t *target) (*session, error) {
	s := &session{}
	srv := &mailsession.Server{Host: t.host, Port: t.port, TLS: t.tls}
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
	case r.Code == 400 || r.Code == 502:
		return failure("the server does not serve readers", r)
	case transit:
		return s.capabilities()
	}
	return nil // a server of RFC 977 may not know it
}

// maxCapabilities bounds the answer to CAPABILITIES, in bytes.
const maxCapabilities = 64 << 10

// capabilities fills in s.caps.
func (s *session) capabilities() error {
	s.caps = nil
	r, err := s.cmd("CAPABILITIES")
	if err != nil || r.Code != replyCapabilities {
		return err
	}
	s.caps = make(map[string]string)
	defer s.InTime()()
	size := 0
	for line, err := range s.Lines.Reader().DotLines(blocks, 0) {
		if size += len(line) + 2; err == nil && size > maxCapabilities {
			err = fmt.Errorf("%w: more than %d bytes of capabilities", wire.ErrReplyTooLong, maxCapabilities)
		}
		if err != nil {
			return s.Lines.Break(err)
		}
		label, args, _ := strings.Cut(string(line), " ")
		s.caps[strings.ToUpper(label)] = args
	}
	return nil
}

// can reports whether the server advertises a capability, with the argument if that is not empty.
func (s *session) can(label, arg string) bool {
	args, ok := s.caps[label]
	return ok && (arg == "" || strings.Contains(" "+strings.ToUpper(args)+" ", " "+arg+" "))
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
// it must be the answer to something else, as the next would be: the session is broken.
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
	*driver.Lease[serverKey, *session]

	// ahead are the articles that were asked for and have not been answered, for other requests of
	// line, which is nil if there are none. They are for the same server and scope.
	ahead []*target
	line  driver.Pipeline
	key   serverKey
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

// with leases a session and runs op on it, after a login or STARTTLS if the server wants that. A
// session that the server closed while it was idle is replaced. If with succeeds, the caller must
// put or discard the lease.
func (d *opener) with(ctx context.Context, t *target, op func(*lease) error) (*lease, error) {
	for {
		pooled, err := d.pool.Get(ctx, t.key(), func(s *session) bool { return t.group != "" && s.group == t.group },
			func(ctx context.Context) (*session, error) { return d.dial(ctx, t) })
		if err != nil {
			return nil, err
		}
		pooled.Bind(ctx)
		l := &lease{session: pooled.Conn, Lease: pooled}
		if err = d.attempt(ctx, t, l, op); err == nil {
			return l, nil
		}
		// Servers drop idle connections silently or with a reply 400.
		stale := pooled.Reused && ctx.Err() == nil && (isHangup(l.Lines.Err()) || replyCode(err) == 400)
		if stale || replyCode(err) == 400 {
			l.Discard()
		} else {
			l.Put()
		}
		if !stale {
			return nil, err
		}
	}
}

// isHangup reports whether err says that the peer is gone, or that its answers are out of step.
func isHangup(err error) bool {
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, errTooMuch)
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
